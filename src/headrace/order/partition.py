"""Which positions of which sequence make a global step: the arithmetic of steps, without any shuffling.

A dataset of N samples is C sequences of floor((c+1)N/C) - floor(cN/C) positions each. With g = G/C, the global step n
is the concatenation over c of the positions [s + ng, s + (n+1)g) of each sequence, where s is what each sequence had
delivered when the epoch was (re)opened. Since the sequences differ by one position at most, all steps but the last
are full, and the last holds what is left of each sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headrace.contracts import I64
from headrace.errors import OrderError


class Span(NamedTuple):
    """Rows of a full step that come from one sequence."""

    node: int
    first_row: int
    last_row: int
    """One past the last row."""
    offset: int
    """Position of the first row, counted from the step's first position in the sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """N samples in C sequences, delivered G at a time."""

    num_samples: int
    """N."""
    num_nodes: int
    """C; divides `global_batch`."""
    global_batch: int
    """G."""
    start: int = 0
    """Samples of the epoch that were delivered before step 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.num_samples or (self.start % self.num_nodes and self.start != self.num_samples):
            raise OrderError(
                "An epoch cannot be opened at this number of delivered samples",
                got=self.start,
                accepted=f"0 to {self.num_samples}, a multiple of {self.num_nodes} or the end",
            )

    @property
    def num_full_steps(self) -> int:
        """Global steps of G samples each."""
        return (self.num_samples - self.start) // self.global_batch

    @property
    def num_rest(self) -> int:
        """Samples of the last, incomplete step; 0 if there is none."""
        return (self.num_samples - self.start) % self.global_batch

    @property
    def rows_per_node(self) -> int:
        """Rows of each sequence in a full step."""
        return self.global_batch // self.num_nodes

    def bounds(self, node: int) -> tuple[int, int]:
        """Where the sequence begins and ends if all sequences are laid one after another."""
        return node * self.num_samples // self.num_nodes, (node + 1) * self.num_samples // self.num_nodes

    def first_position(self, step: int) -> int:
        """Position in each sequence at which a step begins."""
        return self.start // self.num_nodes + step * self.rows_per_node

    def spans(self, first_row: int, last_row: int) -> list[Span]:
        """The sequences that rows [first_row, last_row) of a full step come from."""
        share = self.rows_per_node
        return [
            Span(node, low, min(last_row, (node + 1) * share), low - node * share)
            for node in range(first_row // share, -(-last_row // share))
            for low in [max(first_row, node * share)]
        ]

    def locate_rest(self, rows: I64) -> tuple[I64, I64]:
        """Sequence and position of rows of the incomplete step, each of shape (rows,); `rows` in [0, num_rest)."""
        first = self.first_position(self.num_full_steps)
        bounds = [self.bounds(node) for node in range(self.num_nodes)]
        lengths = np.array([end - begin - first for begin, end in bounds], dtype=np.int64)
        ends = np.cumsum(lengths)
        nodes = np.searchsorted(ends, rows, side="right").astype(np.int64)
        return nodes, first + rows - (ends - lengths)[nodes]
