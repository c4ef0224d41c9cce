"""Ranks that open different epochs are told so, all of them and soon; ranks that open the same never wait for good.

Ranks are threads here, around a store of torch in memory; tests/distributed has real processes.
"""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch.distributed as dist

from headrace.errors import RankMismatchError
from headrace.loader import agreement as module
from headrace.loader.agreement import Agreement
from headrace.loader.rendezvous import Rendezvous
from headrace.loader.session import Session
from headrace.order import Topology

FACTS = {"fingerprint": "abc", "num_samples": 100, "seed": 0, "epoch": 0, "global_batch": 8}


class Rank:
    """A rank whose epochs advance by themselves, as those of a loader do."""

    def __init__(self, store, rank, world_size):
        meeting = Rendezvous(Session(store, "headrace/job", rank, range(world_size)), "loader0")
        self.agreement = Agreement(lambda _: meeting)
        self.number = rank
        self.epoch = 0

    def open(self, **facts):
        self.agreement.open(FACTS | {"epoch": self.epoch} | facts, Topology())

    def take(self, num):
        for _ in range(num):
            self.agreement.takes()
        self.epoch += num > 0

    def finish(self, num):
        """Takes all batches of an epoch of `num`, and its end."""
        for _ in range(num):
            self.agreement.takes()
        self.agreement.ended()
        self.epoch += 1


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", 5.0)
    monkeypatch.setattr(module, "SHORT_PATIENCE_S", 0.2)
    monkeypatch.setattr(module, "GRACE_S", 0.2)


@pytest.fixture
def store():
    return dist.HashStore()


def together(ranks, *stories):
    """Runs a story on each rank side by side; what each raised, or None."""

    def told(rank, story):
        try:
            story(rank)
        except RankMismatchError as error:
            return error
        return None

    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(told, ranks, stories))


def test_ranks_that_agree_go_on_and_leave_little_behind(store):
    ranks = [Rank(store, rank, 3) for rank in range(3)]

    def story(rank):
        for _ in range(20):
            rank.open()
            rank.finish(5)

    assert together(ranks, *[story] * 3) == [None] * 3
    assert all(rank.agreement.is_settled for rank in ranks)
    of_session, of_ranks, of_last_opening = 5, 3, 3
    assert store.num_keys() == of_session + of_ranks + of_last_opening


@pytest.mark.parametrize(
    "field, value, told",
    [
        ("seed", 7, "seed: 0 (ranks 0-1, 3), 7 (rank 2)"),
        ("seed", 7, "Give every rank the same seed"),
        ("fingerprint", "xyz", "fingerprint: 'abc' (ranks 0-1, 3), 'xyz' (rank 2)"),
        ("num_samples", 99, "Give every rank the whole dataset"),
        ("epoch", 3, "epoch: 0 (ranks 0-1, 3), 3 (rank 2)"),
        ("global_batch", 16, "same arguments on every rank"),
    ],
)
def test_all_ranks_name_the_field_and_the_values(store, field, value, told):
    ranks = [Rank(store, rank, 4) for rank in range(4)]
    stories = [lambda rank: rank.open()] * 4
    stories[2] = lambda rank: rank.open(**{field: value})
    errors = together(ranks, *stories)
    assert [error.where["rank"] for error in errors] == [0, 1, 2, 3]
    for error in errors:
        assert field in error.what
        assert told in str(error)


def in_step(num):
    """Ranks of a training loop wait for each other in every step, as DDP makes them."""
    return threading.Barrier(num, timeout=20)


@pytest.mark.parametrize("num_stray", [1, 2, 5])
def test_a_stray_iterator_on_one_rank_is_told_to_all(store, num_stray):
    ranks = [Rank(store, rank, 3) for rank in range(3)]
    step = in_step(3)

    def train(rank):
        rank.open()
        for _ in range(100):
            rank.agreement.takes()
            step.wait()

    def stray(rank):
        rank.open()
        rank.take(num_stray)
        train(rank)

    start = time.monotonic()
    errors = together(ranks, train, stray, train)
    for error in errors:
        assert "epoch: 0 (ranks 0, 2), 1 (rank 1)" in str(error)
        assert "peek()" in str(error)
    assert time.monotonic() - start < 10


def test_a_stray_iterator_is_no_matter_if_the_epoch_is_said(store):
    ranks = [Rank(store, rank, 3) for rank in range(3)]
    step = in_step(3)

    def train(rank):
        for epoch in range(3):
            rank.epoch = epoch
            rank.open()
            for _ in range(10):
                rank.agreement.takes()
                step.wait()
            rank.agreement.ended()

    def stray(rank):
        rank.open()
        rank.take(1)
        train(rank)

    assert together(ranks, train, stray, train) == [None] * 3
    assert all(rank.agreement.is_settled for rank in ranks)


def test_an_iterator_that_gave_nothing_does_not_count(store):
    ranks = [Rank(store, rank, 2) for rank in range(2)]

    def twice(rank):
        rank.open()
        rank.open()
        rank.finish(3)

    def once(rank):
        rank.open()
        rank.finish(3)

    assert together(ranks, twice, once) == [None, None]
    assert [rank.agreement.opening for rank in ranks] == [0, 0]


def test_leaving_an_epoch_early_on_all_ranks_is_fine(store):
    ranks = [Rank(store, rank, 3) for rank in range(3)]
    step = in_step(3)

    def story(rank):
        for _ in range(6):
            rank.open()
            for _ in range(7):
                rank.agreement.takes()
                step.wait()
            rank.epoch += 1

    assert together(ranks, *[story] * 3) == [None] * 3
    assert all(rank.agreement.is_settled for rank in ranks)


@pytest.mark.filterwarnings("ignore:rank 0 has opened")
def test_a_rank_that_others_wait_for_in_training_is_not_kept(store, monkeypatch):
    """Rank 0 opens an epoch that the others open only after a collective: it goes on, and all agree later."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.3)
    ranks = [Rank(store, rank, 2) for rank in range(2)]
    collective, step = in_step(2), in_step(2)

    def early(rank):
        rank.open()
        assert not rank.agreement.is_settled
        collective.wait()
        for _ in range(5):
            rank.agreement.takes()
            step.wait()

    def late(rank):
        collective.wait()
        rank.open()
        for _ in range(5):
            rank.agreement.takes()
            step.wait()

    assert together(ranks, early, late) == [None, None]
    assert [rank.agreement.is_settled for rank in ranks] == [True, True]


def test_those_who_do_not_come_are_named_once(store, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    rank = Rank(store, 0, 3)
    with pytest.warns(UserWarning, match=r"not met ranks \[1, 2\] .* topology=headrace.Topology\(\)"):
        rank.open()
    rank.finish(3)
    rank.open()  # a second warning would be an error
    rank.finish(3)


def test_a_late_rank_with_other_facts_is_told(store, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", 0.1)
    early, late = (Rank(store, rank, 2) for rank in range(2))
    with pytest.warns(UserWarning, match="goes on without"):
        early.open()
    with pytest.raises(RankMismatchError, match=r"seed: 0 \(rank 0\), 1 \(rank 1\)"):
        late.open(seed=1)
    early.agreement.takes()
    with pytest.raises(RankMismatchError, match=r"seed: 0 \(rank 0\), 1 \(rank 1\)"):
        early.agreement.takes()


@pytest.mark.parametrize("died", [(0,), (1, 2), (0, 1), (0, 1, 2)])
def test_what_dead_processes_have_said_does_not_count(store, died, monkeypatch):
    """The launcher starts a job again in place: its store still holds what the ranks before have left there."""
    before = [Rank(store, rank, 3) for rank in range(3)]

    def first_life(rank):
        if rank.number in died:
            rank.open()
            rank.take(2)

    with monkeypatch.context() as patch, warnings.catch_warnings():
        patch.setattr(module, "PATIENCE_S", 0.3)
        warnings.simplefilter("ignore")
        together(before, *[first_life] * 3)

    def second_life(rank):
        rank.epoch = 4
        for _ in range(3):
            rank.open(seed=1)
            rank.finish(5)

    ranks = [Rank(store, rank, 3) for rank in range(3)]
    assert together(ranks, *[second_life] * 3) == [None] * 3
    assert all(rank.agreement.is_settled for rank in ranks)


def test_a_host_that_comes_late_is_met_at_a_later_batch(store, monkeypatch):
    """The lowest rank makes its loader long after the others have gone on to a collective."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    others = [Rank(store, rank, 3) for rank in (1, 2)]
    for other in others:
        with pytest.warns(UserWarning, match="has not met ranks"):
            other.open()
    host = Rank(store, 0, 3)
    host.open()
    for _ in range(9):
        for rank in (host, *others):
            rank.take(1)
    assert all(rank.agreement.is_settled for rank in (host, *others))


def test_a_store_that_is_gone_fails_nobody(tmp_path):
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = dist.TCPStore("127.0.0.1", server.port, is_master=False, wait_for_workers=False)
    rank, other = Rank(client, 0, 2), Rank(server, 1, 2)
    assert together([rank, other], Rank.open, Rank.open) == [None, None]
    del other, server
    rank.finish(20)
    assert rank.agreement.rendezvous is None
    rank.open()
    rank.finish(3)
