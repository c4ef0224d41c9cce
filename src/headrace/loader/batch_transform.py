"""What `batch_transform=` does to a whole batch, with numbers that follow the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from headrace._base.hashing import fold
from headrace.contracts import Recorder, Step
from headrace.loader.composition import Composition
from headrace.recipes.generators import GENERATORS
from headrace.recipes.own_draws import ONE_AT_A_TIME, OwnDraws
from headrace.recipes.randomness import sample_randomness

KEY_OF_BATCHES = 0x6261746368
"""Sets the keys of batches apart from those of samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTransform:
    """A function of whole batches. Safe to call from several threads."""

    call: Callable[[Any], Any]
    seed: int
    rank: int
    borrows: bool = False
    """Whether Python's and numpy's global generators are seeded for it and put back: in the process of the user, where
    its code is seen to draw from them. In worker processes they follow the key anyway."""

    def __call__(self, batch: Any, step: Step, recorder: Recorder) -> Any:
        """The batch of a step, transformed.

        Whatever it draws from torch, from `headrace.rng()`, and from the global generators of a worker process is a
        function of (seed, epoch, step, rank).
        """
        key = int(fold(self.seed, step.epoch, step.index, step.start, self.rank, KEY_OF_BATCHES))
        started_s = perf_counter()
        try:
            with self._borrowed(key), sample_randomness(key), OwnDraws(key):
                made = self.call(batch)
        except Exception as error:
            error.add_note(
                f"headrace: raised by batch_transform= for batch {step.index} of epoch {step.epoch}, rank {self.rank}"
            )
            raise
        recorder.add("batch_transform", perf_counter() - started_s, items=len(step.ids))
        return made

    @contextmanager
    def _borrowed(self, key: int) -> Iterator[None]:
        if not self.borrows:
            yield
            return
        with ONE_AT_A_TIME, GENERATORS.kept():
            GENERATORS.seed(key)
            yield


def batch_transform_of(composition: Composition, *, in_process: bool) -> BatchTransform | None:
    """What is done to whole batches, bound to the seed and the rank."""
    call = composition.options.batch_transform
    if call is None:
        return None
    borrows = not in_process and composition.batch_draw is not None
    return BatchTransform(call=call, seed=composition.options.seed, rank=composition.topology.rank, borrows=borrows)
