"""What the trainer and its workers see of each other at any moment, in shared memory: also after a worker's death."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.contracts import U8

ROW_BYTES = 64
"""A cache line for each worker, so that none slows another one down."""

NO_ITERATION = 0
ITERATION = 0
CLAIMED_ITERATION, CLAIMED_POSITION, MEMORY, PEAK_MEMORY, READY, LEAVING, PREPARING = range(7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The step that a worker is at."""

    iteration: int
    position: int


class Board:
    """Words of 64 bits, each written by one process: the first row by the trainer, a row by each worker.

    Args:
        memory: `board_bytes(num_workers)` bytes, zeroed before use.
    """

    def __init__(self, memory: U8) -> None:
        self.rows = memory.view(np.int64).reshape(-1, ROW_BYTES // 8)

    # --- the trainer's

    def begin(self, iteration: int) -> None:
        """From here on tasks of this iteration are to be done, and no others."""
        self.rows[0, ITERATION] = iteration

    def rest(self) -> None:
        """Nothing is to be done."""
        self.rows[0, ITERATION] = NO_ITERATION

    def claim_of(self, worker: int) -> Claim | None:
        """The step that a worker is, or was, at."""
        iteration, position = self.rows[worker + 1, [CLAIMED_ITERATION, CLAIMED_POSITION]].tolist()
        return Claim(iteration=iteration, position=position) if iteration != NO_ITERATION else None

    def memory_of(self, worker: int) -> tuple[int, int]:
        """Bytes that a worker held when it was last looked at, and the most that its start had taken."""
        memory, peak = self.rows[worker + 1, [MEMORY, PEAK_MEMORY]].tolist()
        return memory, peak

    def is_ready(self, worker: int) -> bool:
        """Whether a worker has taken up its work."""
        return bool(self.rows[worker + 1, READY])

    def is_preparing(self, worker: int) -> bool:
        """Whether code of the user prepares a worker for its first step, or has."""
        return bool(self.rows[worker + 1, PREPARING])

    def is_leaving(self, worker: int) -> bool:
        """Whether a worker is about to end because it had nothing to do."""
        return bool(self.rows[worker + 1, LEAVING])

    # --- a worker's

    def is_wanted(self, iteration: int) -> bool:
        """Whether tasks of this iteration are still to be done."""
        return bool(self.rows[0, ITERATION] == iteration)

    def is_resting(self) -> bool:
        """Whether no iteration is under way."""
        return self.is_wanted(NO_ITERATION)

    def set_preparing(self, worker: int) -> None:
        """Code of the user prepares this worker from here on."""
        self.rows[worker + 1, PREPARING] = 1

    def set_ready(self, worker: int, peak_bytes: int) -> None:
        """This worker has taken up its work."""
        self.rows[worker + 1, PEAK_MEMORY] = peak_bytes
        self.rows[worker + 1, READY] = 1

    def set_leaving(self, worker: int, *, leaving: bool) -> None:
        """This worker is about to end, or stays after all."""
        self.rows[worker + 1, LEAVING] = leaving

    def claim(self, worker: int, iteration: int, position: int) -> None:
        """This worker is at this step from here on."""
        self.rows[worker + 1, CLAIMED_POSITION] = position
        self.rows[worker + 1, CLAIMED_ITERATION] = iteration

    def note_memory(self, worker: int, resident_bytes: int) -> None:
        """This worker holds this much memory."""
        self.rows[worker + 1, MEMORY] = resident_bytes

    def disclaim(self, worker: int) -> None:
        """This worker is at no step."""
        self.rows[worker + 1, CLAIMED_ITERATION] = NO_ITERATION


def board_bytes(num_workers: int) -> int:
    """Size of a board."""
    return ROW_BYTES * (num_workers + 1)
