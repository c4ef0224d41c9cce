"""The global generators of a worker process, which follow its samples.

Code of users draws from `random`, `numpy.random` and torch without asking where it runs. In a worker process nobody
else uses these generators, so each sample finds them seeded from its own key, and draws the same wherever and whenever
it is made. Through the generators themselves that takes 6 us a sample (`torch.manual_seed` alone takes 190).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


class GlobalGenerators:
    """Python's, numpy's and torch's CPU generator of this process."""

    def __init__(self) -> None:
        self.follow_samples = False
        """Whether they are seeded with each sample. Never in the process of the user."""

    def seed(self, key: int) -> None:
        """Seeds all three from the key of a sample (64 bits; numpy's legacy generator takes the upper 32)."""
        random.seed(key)
        np.random.seed(key >> 32)  # noqa: NPY002 - it is the legacy generator that users call
        torch.default_generator.manual_seed(key)

    @contextmanager
    def kept(self) -> Iterator[Callable[[], bool]]:
        """Leaves them as they were before the block, whatever is drawn inside of it.

        Yields:
            What tells whether one of them has moved since.
        """
        python, tensors = random.getstate(), torch.get_rng_state()
        legacy: Any = np.random.get_state()  # noqa: NPY002

        def have_moved() -> bool:
            now: Any = np.random.get_state()  # noqa: NPY002
            same = random.getstate() == python and torch.equal(torch.get_rng_state(), tensors)
            return not (same and now[2:] == legacy[2:] and np.array_equal(now[1], legacy[1]))

        try:
            yield have_moved
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
            torch.set_rng_state(tensors)


GENERATORS = GlobalGenerators()
