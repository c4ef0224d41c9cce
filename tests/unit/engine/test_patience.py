"""How long a consumer waits."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from headrace.engine.patience import Patience
from headrace.errors import BatchTimeoutError


def test_workers_that_begin_during_a_wait_have_the_whole_time():
    flight = SimpleNamespace(options=SimpleNamespace(timeout_s=0.05), is_starting=True, give_up=lambda: None)
    patience = Patience(flight)
    patience.check()
    time.sleep(0.1)
    flight.is_starting = False
    patience.check()
    assert patience.until_s > time.monotonic() - 0.05
    time.sleep(0.1)
    with pytest.raises(BatchTimeoutError, match=r"after 0\.05 seconds"):
        patience.check()
