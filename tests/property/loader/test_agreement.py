"""Ranks that do the same are never blamed, in step or not; one that opens an epoch of its own is found out by all.

Ranks are threads around a store of torch in memory.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import RankMismatchError
from headrace.loader import agreement as module
from headrace.loader.agreement import Agreement
from headrace.loader.rendezvous import Rendezvous
from headrace.loader.session import Session
from headrace.order import Topology

NUM_RANKS = 3


@pytest.fixture(autouse=True, scope="module")
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PATIENCE_S", 20.0)
        patch.setattr(module, "SHORT_PATIENCE_S", 0.02)
        patch.setattr(module, "GRACE_S", 0.02)
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What every rank does in an epoch."""

    num_batches: int
    taken: int | None
    """Batches after which the loop is left; None: it goes to its end."""


EPOCHS = st.lists(
    st.integers(0, 12).flatmap(
        lambda num: st.builds(
            Epoch, num_batches=st.just(num), taken=st.none() | st.integers(min(1, num), num) if num else st.none()
        )
    ),
    min_size=1,
    max_size=5,
)


class Job:
    """A training job of some ranks; in step, each batch is a collective."""

    def __init__(self, *, in_step):
        self.store = dist.HashStore()
        self.step = threading.Barrier(NUM_RANKS, timeout=30) if in_step else None

    def run(self, epochs, *, stray_rank=None, stray_before=0, num_stray=0, pauses=(0.0,) * NUM_RANKS):
        """What each rank raised."""

        def told(rank):
            try:
                self.train(rank, epochs, stray_before if rank == stray_rank else None, num_stray, pauses[rank])
            except RankMismatchError as error:
                return error
            return None

        with ThreadPoolExecutor(NUM_RANKS) as pool:
            return list(pool.map(told, range(NUM_RANKS)))

    def train(self, rank, epochs, stray_before, num_stray, pause_s):
        meeting = Rendezvous(Session(self.store, "headrace/job", rank, range(NUM_RANKS)), "loader0")
        agreement, number = Agreement(lambda _: meeting), 0
        for index, epoch in enumerate(epochs):
            if index == stray_before:
                agreement.open({"epoch": number}, Topology())
                for _ in range(num_stray):
                    agreement.takes()
                number += 1
            time.sleep(pause_s)
            agreement.open({"epoch": number}, Topology())
            self.loop(agreement, epoch, pause_s)
            number += 1

    def loop(self, agreement, epoch, pause_s):
        for _ in range(epoch.num_batches if epoch.taken is None else epoch.taken):
            agreement.takes()
            if self.step is not None:
                self.step.wait()
            else:
                time.sleep(pause_s / 10)
        if epoch.taken is None:
            agreement.ended()


@given(epochs=EPOCHS, in_step=st.booleans(), pauses=st.tuples(*[st.sampled_from([0.0, 0.001, 0.01])] * NUM_RANKS))
def test_ranks_that_do_the_same_are_never_blamed(epochs, in_step, pauses):
    assert Job(in_step=in_step).run(epochs, pauses=pauses) == [None] * NUM_RANKS


@settings(max_examples=25)
@given(data=st.data(), num_batches=st.integers(1, 12), num_epochs=st.integers(1, 3))
def test_a_rank_that_opens_an_epoch_of_its_own_is_found_out_by_all(data, num_batches, num_epochs):
    epochs = [Epoch(num_batches=num_batches, taken=None)] * num_epochs
    stray = {
        "stray_rank": data.draw(st.integers(0, NUM_RANKS - 1)),
        "stray_before": data.draw(st.integers(0, num_epochs - 1)),
        "num_stray": data.draw(st.integers(1, num_batches)),
    }
    errors = Job(in_step=True).run(epochs, **stray)
    here = stray["stray_before"]
    for error in errors:
        assert f"epoch: {here} (rank" in str(error) or f", {here} (rank" in str(error)
        assert f"{here + 1} (rank {stray['stray_rank']})" in str(error)
