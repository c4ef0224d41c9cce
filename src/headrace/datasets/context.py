"""What a batch needs beside its bytes, and what it comes out as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.contracts import U64, Allocate, Bools, Recorder, SampleName
from headrace.datasets.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchContext:
    """What a batch needs beside its bytes."""

    keys: U64
    """Keys of the random numbers, shape (rows,)."""
    allocate: Allocate
    names: Callable[[], Sequence[SampleName]]
    """Names of the rows; called only where one is needed."""
    recorder: Recorder
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """A batch and which of its rows are good."""

    batch: Any
    one_value: bool = False
    """Whether the batch is one value, even where it is a list: samples have no parts (a text, a field alone)."""
    valid: Bools
    """False where a row repeats a good one because its own sample has a fault, shape (rows,)."""
