"""Streams that begin alike are told of: the usual fault with datasets that do not split themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from headrace.loader.streams.beginning import LOOKED_AT

Claim = Callable[[str, str], str]
"""`claim(beginning, who)` tells who was first to say that a stream of his begins so, among all ranks."""

REMEDY = (
    "give the dataset shard(index, count), with arguments of these names, which returns its part `index` of `count`, "
    "and the loader splits it; or split it in __iter__ by torch.utils.data.get_worker_info() and the rank"
)


class Duplicates:
    """Compares what streams begin with, and warns once.

    Args:
        rank: Of this process.
        claim: Asks the other ranks; None where there are none to ask.
    """

    def __init__(self, rank: int, claim: Claim | None) -> None:
        self.rank = rank
        self.claim = claim
        self.seen: dict[str, int] = {}
        self.has_told = False

    def note(self, stream: int, beginning: str) -> None:
        """A stream of this rank begins so."""
        earlier = self.seen.setdefault(beginning, stream)
        if self.has_told:
            return
        if earlier != stream:
            self._tell(f"Workers {earlier} and {stream}")
        elif self.claim is not None:
            mine = f"rank {self.rank}, worker {stream}"
            first = self.claim(beginning, mine)
            if first != mine:
                self._tell(f"The streams of {first} and {mine}")

    def _tell(self, which: str) -> None:
        self.has_told = True
        warnings.warn(
            f"{which} begin with the same {LOOKED_AT} samples, or are shorter and the same: it seems that each gives "
            f"the whole dataset, so that its samples come several times in an epoch. To have each once, {REMEDY}",
            stacklevel=2,
        )
