"""Which processes open the epochs of a loader together, and the store through which they can leave word."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import cast

import torch.distributed as dist

from headrace.loader.process_groups import Membership
from headrace.loader.rendezvous import Rendezvous
from headrace.loader.session import Session, Store
from headrace.order import Topology

NUMBERS: Counter[str] = Counter()
"""Loaders that this process has made, by the processes that share them: it numbers them, alike on all ranks."""

SESSIONS: dict[str, Session] = {}
"""The session of this process in each group of processes; of the process group that it has joined last."""


class Peers:
    """The processes that share a loader; the order in which loaders are made tells which is which.

    A `Topology` of the caller says nothing of which processes are meant: such a loader is on its own.

    Args:
        said: What the caller said of the topology.
    """

    def __init__(self, said: Topology | Membership | None) -> None:
        self.is_alone = isinstance(said, Topology)
        self.ranks = said.peers if isinstance(said, Membership) else None
        group = "job" if self.ranks is None else f"{zlib.crc32(repr(self.ranks).encode()):08x}"
        self.group, self.name = f"headrace/{group}", f"loader{NUMBERS[group]}"
        NUMBERS[group] += not self.is_alone

    def rendezvous(self, topology: Topology) -> Rendezvous | None:
        """Where they meet; None for a process on its own, or where torch.distributed is not there to ask.

        Args:
            topology: As found out at first use, perhaps before torch.distributed was initialised.
        """
        if self.is_alone or not is_in_a_job():
            return None
        ranks = self.ranks
        if ranks is None:
            ranks = tuple(range(dist.get_world_size()))
            if len(ranks) != topology.world_size:
                return None
        store = _job_store() if len(ranks) > 1 else None
        return Rendezvous(_session(store, self.group, ranks), self.name) if store is not None else None


def is_in_a_job() -> bool:
    """Whether torch.distributed is there to ask for other processes."""
    return dist.is_available() and dist.is_initialized()


def _session(store: Store, group: str, ranks: tuple[int, ...]) -> Session:
    """The session at this store; another process group is another session."""
    session = SESSIONS.get(group)
    if session is None or session.store is not store:
        session = SESSIONS[group] = Session(store, group, dist.get_rank(), ranks)
    return session


def _job_store() -> Store | None:
    """The store of the default process group; None where a job is only acted out, without other processes."""
    if dist.get_backend() == "fake":
        return None
    from torch.distributed.distributed_c10d import _get_default_store  # torch has no public name for it

    return cast("Store | None", _get_default_store())
