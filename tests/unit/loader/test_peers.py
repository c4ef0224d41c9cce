"""Who shares a loader, and where they can leave word."""

from __future__ import annotations

import multiprocessing
from contextlib import contextmanager

import pytest
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from headrace.loader import peers as module
from headrace.loader.agreement import Agreement
from headrace.loader.peers import Peers
from headrace.loader.process_groups import Membership
from headrace.loader.rendezvous import Rendezvous
from headrace.loader.session import Session
from headrace.order import Topology


@contextmanager
def job(backend="gloo"):
    """This process as rank 1 of 4. Only the fake backend starts without the others; it may go by another name."""
    dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.dist, "get_backend", lambda: backend)
        yield
    dist.destroy_process_group()


def test_all_ranks_of_a_job_share_a_loader():
    with job():
        found = Peers(None).rendezvous(Topology(rank=1, world_size=4))
        assert (found.rank, found.ranks) == (1, (0, 1, 2, 3))


def test_a_membership_names_its_processes():
    with job():
        membership = Membership(rank=0, world_size=1, peers=(1, 3))
        assert Peers(membership).rendezvous(Topology()).ranks == (1, 3)


@pytest.mark.parametrize(
    "said, topology",
    [
        (Topology(), Topology()),
        (Topology(rank=1, world_size=4), Topology(rank=1, world_size=4)),
        (Membership(rank=0, world_size=1, peers=(1,)), Topology()),
        # Found from the launcher's variables before torch.distributed was initialised, for another job than this one.
        (None, Topology(rank=0, world_size=2)),
    ],
)
def test_a_loader_on_its_own_meets_nobody(said, topology):
    with job():
        assert Peers(said).rendezvous(topology) is None


def test_without_other_processes_there_is_nobody_to_meet():
    assert Peers(None).rendezvous(Topology()) is None
    with job(backend="fake"):
        assert Peers(None).rendezvous(Topology(rank=1, world_size=4)) is None


def test_loaders_are_numbered_by_who_shares_them(monkeypatch):
    monkeypatch.setattr(module, "NUMBERS", type(module.NUMBERS)())
    some, others = (Membership(rank=0, world_size=2, peers=peers) for peers in ((0, 2), (1, 3)))
    peers = [Peers(said) for said in (None, some, Topology(), None, others, some)]
    shared = [(one.group, one.name) for one in peers if not one.is_alone]
    assert len(set(shared)) == 5
    # A loader on its own takes no number away.
    assert [name for _, name in shared] == ["loader0", "loader0", "loader1", "loader0", "loader1"]


def test_a_forked_child_speaks_for_no_rank():
    store = dist.HashStore()
    agreement = Agreement(lambda _: Rendezvous(Session(store, "headrace/job", 0, (0,)), "loader0"))
    assert agreement.open({"epoch": 0}, Topology())
    assert store.num_keys() > 0
    answers = multiprocessing.get_context("fork").SimpleQueue()

    def child():
        answers.put(agreement.open({"epoch": 1}, Topology()))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert answers.get() is False
    answers.close()
