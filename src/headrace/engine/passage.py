"""One step on its way through an engine, and the memory that it takes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from headrace.contracts import Recorder, Step
from headrace.engine.slots import SlotPool

TURNS = itertools.count(1)
"""Counts the steps of all loaders of the process, as they are pulled."""


class StepMemory:
    """`Allocate` for one step; sums up what was taken. `num_at_once` is that of `SlotPool.allocate`."""

    __slots__ = ("num_at_once", "recorder", "size_bytes", "slots")

    def __init__(self, slots: SlotPool, recorder: Recorder, *, num_at_once: int = 0) -> None:
        self.slots = slots
        self.recorder = recorder
        self.num_at_once = num_at_once
        self.size_bytes = 0

    def __call__(self, shape: Sequence[int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A leased array; see `SlotPool.allocate`."""
        array = self.slots.allocate(shape, dtype, self.recorder, num_at_once=self.num_at_once)
        self.size_bytes += array.nbytes
        return array


class Passage:
    """A step between the iterator of steps and the consumer. Handed from thread to thread, never shared.

    `position` is its place in the order of delivery, `turn` its place among the steps of all loaders.
    """

    __slots__ = ("batch", "charged_bytes", "fetched", "memory", "position", "ready_s", "step", "turn")

    def __init__(self, position: int, step: Step, memory: StepMemory, charged_bytes: int) -> None:
        self.position = position
        self.step = step
        self.memory = memory
        self.charged_bytes = charged_bytes
        self.fetched: Any = None
        self.batch: Any = None
        self.ready_s = 0.0
        self.turn = next(TURNS)

    def __lt__(self, other: Passage) -> bool:
        """Earlier steps first, for the heap of fetched steps."""
        return self.position < other.position


class Ending:
    """Comes in the place of a step after which there is none: the error of that step, or the plain end."""

    __slots__ = ("error", "position")

    def __init__(self, position: int, error: BaseException | None = None) -> None:
        self.position = position
        self.error = error
