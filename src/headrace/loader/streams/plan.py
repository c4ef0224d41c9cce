"""How the streams of a rank are read: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headrace.contracts import Tail
from headrace.loader.engine_choice import EngineKind

SHARD_REASON = "the dataset has shard(index, count)"
UNSPLIT_REASON = "several would each give all samples, unless the dataset splits itself: num_workers= asks for them"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """The streams of one rank."""

    num_streams: int
    """Of this rank; each is read by a worker of its own."""
    reason: str
    """Why so many."""
    engine: EngineKind
    why_engine: str
    splits: bool
    """Whether we deal the dataset over ranks and streams, by its `shard`."""
    batch_size: int | None
    """Samples of a batch; None where each is delivered by itself."""
    drop_last: bool
    tail: Tail
    seed: int
    rank: int
    world_size: int

    @property
    def num_parts(self) -> int:
        """Streams of all ranks."""
        return self.num_streams * self.world_size

    def part(self, stream: int, rank: int | None = None) -> int:
        """Number of a stream among those of all ranks, by default one of this rank.

        Neighbours lie on different ranks: datasets often give the first parts one sample more.
        """
        return stream * self.world_size + (self.rank if rank is None else rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """How many streams there are, and who reads them."""

    num_streams: int
    reason: str
    engine: EngineKind
    why_engine: str


def choose_readers(
    asked: Literal["auto", "threads", "processes"],
    num_workers: int,
    *,
    is_automatic: bool,
    splits: bool,
    objection: str | None,
    has_timeout: bool = False,
) -> Readers:
    """The streams of a rank and their engine.

    Args:
        asked: The engine that the user asked for.
        num_workers: Workers, as asked or as the CPUs say.
        is_automatic: Whether nobody asked for a number of workers.
        splits: Whether the dataset has `shard`.
        objection: Why there can be no worker processes; None where there can.
        has_timeout: Whether batches must come within a time, so that the caller cannot make them himself.
    """
    if num_workers == 0:
        return Readers(num_streams=1, reason="num_workers=0", engine="caller", why_engine="num_workers=0")
    if asked == "auto" and is_automatic and objection is not None:
        kind: EngineKind = "threads" if has_timeout else "caller"
        return Readers(num_streams=1, reason=objection, engine=kind, why_engine=objection)
    if asked == "threads":
        reason = SHARD_REASON if splits else "threads cannot tell a dataset which of several they are"
        num_streams = num_workers if splits else 1
        return Readers(num_streams=num_streams, reason=reason, engine="threads", why_engine="as asked")
    why = "as asked" if asked == "processes" else "what is iterated over is Python, which holds the GIL"
    num_streams, reason = 1, UNSPLIT_REASON
    if not is_automatic:
        num_streams, reason = num_workers, "one for each worker that was asked for"
    elif splits:
        num_streams, reason = num_workers, SHARD_REASON
    return Readers(num_streams=num_streams, reason=reason, engine="processes", why_engine=why)
