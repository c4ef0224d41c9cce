"""The order of one epoch: which samples make any step on any rank."""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np

from headrace._base.distinct import distinct
from headrace.contracts import I64, Bools, Step
from headrace.errors import OrderError
from headrace.order.keys import full_key
from headrace.order.partition import Partition
from headrace.order.permutation import permutation
from headrace.order.recent import Recent
from headrace.order.shares import Shares
from headrace.order.spec import OrderSpec

LOOK_AHEAD_ROWS = 8192
"""Rows of a rank that are computed together: numpy's cost a call is spread over them."""


class Sequences(Protocol):
    """The samples of each canonical node, in the order of the epoch."""

    def at(self, node: int, positions: I64) -> I64:
        """Sample ids at these positions, shape (positions,)."""


class DatasetSequence:
    """The one sequence of dataset order."""

    def at(self, node: int, positions: I64) -> I64:
        """Sample ids at these positions."""
        return positions


class FullSequence:
    """The one sequence of a permutation of the whole dataset."""

    def __init__(self, num_samples: int, key: int) -> None:
        self._permutation = permutation(num_samples, key)

    def at(self, node: int, positions: I64) -> I64:
        """Sample ids at these positions."""
        return self._permutation.at(positions)


class EpochOrder:
    """Answers which samples make a step, for any step and rank, in any sequence and from any thread.

    A value: two of them with equal arguments give equal answers. What it keeps are only answers computed ahead.

    Args:
        spec: What the order is made of.
        epoch: Epoch, from 0.
        start: Samples of the epoch that were delivered before step 0 (in batches of any size): a multiple of
            `spec.canonical_nodes`, or all of them.
    """

    def __init__(self, spec: OrderSpec, epoch: int, start: int = 0) -> None:
        if epoch < 0:
            raise OrderError("There is no such epoch", got=epoch, accepted="0 or more")
        self.spec = spec
        self.epoch = epoch
        self.start = start
        self._partition = Partition(
            num_samples=spec.num_samples, num_nodes=spec.canonical_nodes, global_batch=spec.global_batch, start=start
        )
        self._num_full = self._partition.num_full_steps
        self._num_rest = 0 if spec.tail == "drop" else self._partition.num_rest
        self._sequences = _open_sequences(spec, epoch, self._partition)
        self._block_steps = max(1, LOOK_AHEAD_ROWS // spec.rank_rows)
        self._blocks = Recent(self._make_block, num_kept=4)

    @property
    def num_global_steps(self) -> int:
        """Steps that all ranks make together."""
        return self._num_full + (self._num_rest > 0)

    @functools.cached_property
    def num_steps(self) -> int:
        """Batches on each rank: `accumulate` for each global step.

        A single rank that keeps the tail makes no more batches of the last step than there are samples for.
        """
        spec = self.spec
        if spec.cuts_padding:
            return self._num_full * spec.accumulate + -(-self._num_rest // spec.batch_size)
        return self.num_global_steps * spec.accumulate

    def step(self, index: int, rank: int = 0) -> Step:
        """Batch `index` of a rank.

        Raises:
            OrderError: There is no such batch or rank.
        """
        if not 0 <= index < self.num_steps:
            raise OrderError("There is no such step", got=index, accepted=f"0 to {self.num_steps - 1}", rank=rank)
        if not 0 <= rank < self.spec.world_size:
            raise OrderError("There is no such rank", got=rank, accepted=f"0 to {self.spec.world_size - 1}")
        global_step, part = divmod(index, self.spec.accumulate)
        first = part * self.spec.batch_size
        last = first + self.spec.batch_size
        if global_step < self._num_full:
            block, row = divmod(global_step, self._block_steps)
            ids = self._blocks((rank, block))[row, first:last].copy()
            valid = np.ones(len(ids), dtype=np.bool_)
        else:
            shift = rank * self.spec.rank_rows
            ids, valid = self._rest(shift + first, shift + last)
        return Step(index=index, epoch=self.epoch, ids=ids, valid=valid, start=self.start)

    def global_step(self, number: int) -> tuple[I64, Bools]:
        """Sample ids and validity of a global step over all ranks and accumulated batches, each of shape (rows,).

        Raises:
            OrderError: There is no such step.
        """
        if not 0 <= number < self.num_global_steps:
            raise OrderError("There is no such step", got=number, accepted=f"0 to {self.num_global_steps - 1}")
        if number == self._num_full:
            return self._rest(0, self.spec.global_batch)
        ids = self._full_rows(number, number + 1, 0, self.spec.global_batch)[0]
        return ids, np.ones(len(ids), dtype=np.bool_)

    def _make_block(self, key: tuple[int, int]) -> I64:
        """A rank's rows of some consecutive full steps, shape (steps, rows)."""
        rank, block = key
        first = block * self._block_steps
        rows = self.spec.rank_rows
        return self._full_rows(first, min(first + self._block_steps, self._num_full), rank * rows, (rank + 1) * rows)

    def _full_rows(self, first_step: int, last_step: int, first_row: int, last_row: int) -> I64:
        """Rows [first_row, last_row) of full steps [first_step, last_step), shape (steps, rows)."""
        num_steps = last_step - first_step
        ids = np.empty((num_steps, last_row - first_row), dtype=np.int64)
        share = self._partition.rows_per_node
        starts = self._partition.first_position(first_step) + share * np.arange(num_steps, dtype=np.int64)
        for span in self._partition.spans(first_row, last_row):
            num_rows = span.last_row - span.first_row
            positions = starts[:, None] + (span.offset + np.arange(num_rows, dtype=np.int64))
            column = span.first_row - first_row
            ids[:, column : column + num_rows] = self._sequences.at(span.node, positions.ravel()).reshape(
                positions.shape
            )
        return ids

    def _rest(self, first_row: int, last_row: int) -> tuple[I64, Bools]:
        """Rows [first_row, last_row) of the incomplete step: what is left, then the same again as padding."""
        if self.spec.cuts_padding:
            last_row = min(last_row, self._num_rest)
        rows = np.arange(first_row, last_row, dtype=np.int64)
        nodes, positions = self._partition.locate_rest(rows % self._num_rest)
        ids = np.empty_like(rows)
        for node in distinct(nodes):
            here = np.flatnonzero(nodes == node)
            ids[here] = self._sequences.at(node, positions[here])
        return ids, rows < self._num_rest


def open_epoch(spec: OrderSpec, epoch: int, start: int = 0) -> EpochOrder:
    """The order of one epoch. No array of the samples' length is made: shards are permuted, samples never stored.

    Args:
        spec: What the order is made of.
        epoch: Epoch, from 0.
        start: Samples of the epoch that were delivered already; step 0 is the first after them.

    Raises:
        OrderError: A negative epoch, or a start that no epoch can have.
    """
    return EpochOrder(spec, epoch, start)


def _open_sequences(spec: OrderSpec, epoch: int, partition: Partition) -> Sequences:
    if spec.shuffle == "none":
        return DatasetSequence()
    if spec.shuffle == "full":
        return FullSequence(partition.num_samples, full_key(spec.seed, epoch))
    return Shares(spec.layout, partition, spec.least_window_samples, spec.seed, epoch)
