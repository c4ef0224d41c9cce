"""What all tests share: nothing may be left behind, real photographs to work on, bounded property tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from headrace.cli.demo.photographs import make_photographs
from tests.left_behind import left_behind, look

# Processes that tests start run this checkout too.
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")

# Programs that a shell starts in the background ignore Ctrl-C, and so would all processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile(
    "bounded",
    max_examples=40,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("bounded")


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder tree of 60 real JPEG photographs: ten classes of six, seven sizes. Read-only by agreement."""
    folder = tmp_path_factory.mktemp("photographs") / "tree"
    make_photographs(folder, num=60, seed=0)
    return folder


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test after which a thread, process, shared memory or open file is left."""
    before = look()
    yield
    left = left_behind(before, settle_s=3.0)
    assert not left, f"left behind: {left}"
