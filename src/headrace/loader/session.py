"""A place in the store of a job that belongs to the processes that are alive now.

A launcher that restarts a job in place keeps the store, and with it what the processes before left there. What they
said must not be taken for what a rank says now.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Protocol

WORD_BYTES = 8


class Store(Protocol):
    """What is used of `torch.distributed.Store`."""

    def set(self, key: str, value: str) -> None:
        """Sets a value."""

    def get(self, key: str) -> bytes:
        """A value; waits for it where there is none."""

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter and returns the sum."""

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Sets a value if it is the expected one ("": there is none) and returns what is there then."""

    def delete_key(self, key: str) -> bool:
        """Removes a value."""


class Session:
    """The processes that share loaders, once they know of each other that they are alive.

    The lowest rank is the host and names the session by a random word. Each other rank hands in a random word of its
    own and has entered when the host of the present session has answered with that word: a host that has died answers
    nobody, and an answer to a process that has died has another word in it. Nothing here waits; whoever wants to enter
    asks again.

    Args:
        store: Of the job.
        name: Of the group of processes, the same on all of them.
        rank: Of this process in the job.
        ranks: Of all of them, ascending.
    """

    def __init__(self, store: Store, name: str, rank: int, ranks: Sequence[int]) -> None:
        self.store = store
        self.name = name
        self.rank = rank
        self.ranks = ranks
        self.word = secrets.token_hex(WORD_BYTES)
        self.prefix: str | None = None
        """Where the keys of the session lie; None until this process has entered."""
        self.answered: dict[int, str] = {}
        """Rank -> the word that the host has answered with."""
        self.is_complete = False
        """Whether all processes are known to have entered."""
        if rank == ranks[0]:
            self.prefix = f"{name}/{self.word}"
            store.set(f"{name}/host", self.word)
            self._answer()
        else:
            store.set(f"{name}/in/{rank}", self.word)

    @property
    def was_awaited(self) -> bool:
        """Whether this is a host that all others have asked for and not met yet: perhaps they have gone on."""
        return not self.is_complete and len(self.answered) == len(self.ranks) - 1

    def enter(self) -> bool:
        """Whether this process has entered. A host answers those who have come since it was last here."""
        if self.prefix is None:
            self._find_host()
        elif self.rank == self.ranks[0] and not self.is_complete:
            self._answer()
        return self.prefix is not None

    def _find_host(self) -> None:
        host = read(self.store, f"{self.name}/host")
        if host is not None and read(self.store, f"{self.name}/{host}/out/{self.rank}") == self.word:
            self.prefix = f"{self.name}/{host}"

    def _answer(self) -> None:
        """Answers anew where a word has changed: the one before was that of a process that has died."""
        for rank in self.ranks[1:]:
            word = read(self.store, f"{self.name}/in/{rank}")
            if word is not None and word != self.answered.get(rank):
                self.store.set(f"{self.prefix}/out/{rank}", word)
                self.answered[rank] = word


def read(store: Store, key: str) -> str | None:
    """A value that may be missing."""
    return store.get(key).decode() if store.check([key]) else None
