"""Streams that worker processes read."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import closing
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

import headrace as hr
from headrace.errors import OptionError, OrderError, WorkerDiedError
from tests.streams import Naive, Resumable, SelfSplitting, Unsized, in_turns, parts_of

SAMPLES = list(range(29))


def loader_of(dataset, num_workers=2, **options):
    return hr.DataLoader(dataset, num_workers=num_workers, **{"batch_size": 3, "seed": 5} | options)


def lists(batches):
    return [batch.tolist() for batch in batches]


def test_a_state_goes_on_on_the_same_streams_and_nowhere_else():
    expected = in_turns(parts_of(SAMPLES, 2), 3)
    with closing(loader_of(Resumable(SAMPLES))) as loader:
        states = [loader.state_dict()]
        for batch, one in zip(loader, expected, strict=True):
            assert batch.tolist() == one
            states.append(json.loads(json.dumps(loader.state_dict())))
        for done in (4, len(expected)):  # the property test does so at every step, on threads
            loader.load_state_dict(states[done])
            assert lists(loader) == expected[done:]
        assert lists(loader) == expected, "the next epoch"
    other = hr.DataLoader(Resumable(SAMPLES), batch_size=3, seed=5, num_workers=0)
    with pytest.raises(OrderError, match="num_streams differs"):
        other.load_state_dict(states[3])
    with pytest.raises(OrderError, match="fingerprint differs"):
        hr.DataLoader(Naive(3), batch_size=3, seed=5, num_workers=2).load_state_dict(states[3])
    with pytest.raises(OrderError, match="kind differs"):
        hr.DataLoader(range(29), batch_size=3, seed=5, num_workers=0).load_state_dict(states[3])


class Drawing(Unsized):
    """Tells what all generators give."""

    def __iter__(self):
        for sample in self.samples:
            yield sample, random.random(), np.random.rand(), torch.rand(()).item(), hr.rng().random()


def test_draws_depend_on_seed_epoch_and_place_alone():
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    with closing(loader_of(Drawing(SAMPLES), collate_fn=list)) as loader:
        first, second = list(loader), list(loader)
        assert first != second
        begun = list(islice(iter(loader), 3))
        loader.load_state_dict(loader.state_dict())
        third = begun + list(loader)
        loader.set_epoch(2)
        assert list(loader) == third, "read again, and as if never cut"
        loader.set_epoch(0)
        assert list(loader) == first
    assert len({row[1] for batch in first for row in batch}) == len(SAMPLES), "streams and batches draw differently"
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    with closing(loader_of(Drawing(SAMPLES), collate_fn=list, engine="threads")) as loader:
        ours = [[(row[0], row[4]) for row in batch] for batch in loader]
    assert ours == [[(row[0], row[4]) for row in batch] for batch in first], "hr.rng() on threads too"


class Announced(IterableDataset):
    """Is told the epoch, and tells it with the seed of its worker."""

    epoch = None

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        yield self.epoch, get_worker_info().seed - get_worker_info().id


def test_datasets_are_told_the_epoch_and_workers_share_a_seed_that_epochs_do_not():
    with (
        closing(loader_of(Announced(), batch_size=None, collate_fn=tuple)) as loader,
        pytest.warns(UserWarning, match="same"),
    ):
        epochs = [list(loader) for _ in range(2)]
    assert [[epoch for epoch, _ in rows] for rows in epochs] == [[0, 0], [1, 1]]
    seeds = [{seed for _, seed in rows} for rows in epochs]
    assert [len(one) for one in seeds] == [1, 1]
    assert seeds[0] != seeds[1]


def test_duplicates_are_told_of_and_delivered_as_torch_does():
    with closing(loader_of(Naive(5))) as loader:
        with pytest.warns(UserWarning, match=r"Workers 0 and 1 begin with the same.*shard\(index, count\)"):
            assert lists(loader) == in_turns([list(range(5))] * 2, 3)
        assert lists(loader) == in_turns([list(range(5))] * 2, 3), "told of once"
        assert "by the dataset itself, if at all" in loader.explain()


def test_nothing_comes_twice_where_nobody_asked_for_several_workers():
    with closing(hr.DataLoader(Naive(5), batch_size=3)) as loader:
        assert lists(loader) == [[0, 1, 2], [3, 4]]
        assert "1 stream a rank" in loader.explain()
        assert loader.num_workers == 1


class Deadly(Unsized):
    def __iter__(self):
        for sample in self.samples:
            if sample == 15:
                os.kill(os.getpid(), signal.SIGKILL)
            yield sample


def test_a_worker_that_dies_is_named_with_its_signal_and_place():
    with closing(loader_of(Deadly(SAMPLES))) as loader:
        with pytest.raises(WorkerDiedError, match=r"worker 1 .*SIGKILL.*samples=\[6, 7, 8\]"):
            list(loader)
        loader.set_epoch(0)
        assert next(iter(loader)).tolist() == [0, 2, 4], "new workers are started"


class Endless(IterableDataset):
    def __iter__(self):
        number = get_worker_info().id
        while True:
            yield number


def test_leaving_an_endless_stream_ends_it():
    loader = loader_of(Endless(), batch_size=1)
    assert [batch.item() for batch in islice(loader, 5)] == [0, 1, 0, 1, 0]
    assert [batch.item() for batch in islice(loader, 2)] == [0, 1], "anew"
    loader.close()


class Slow(Unsized):
    """The first stream is slow, and order is kept."""

    def __iter__(self):
        for sample in self.samples:
            time.sleep(0.05 * (sample % 2 == 0))
            yield sample


def test_order_is_kept_however_slow_a_stream_is():
    with closing(loader_of(Slow(SAMPLES[:12]))) as loader:
        assert lists(loader) == in_turns(parts_of(SAMPLES[:12], 2), 3)
    with closing(loader_of(Slow(SAMPLES[:12]), engine="threads")) as loader:
        assert lists(loader) == in_turns(parts_of(SAMPLES[:12], 2), 3)


class Locked(SelfSplitting):
    def __init__(self):
        super().__init__([3])
        self.inner = {"rows": (row for row in "abc")}


def test_a_dataset_that_cannot_be_sent_is_named_or_read_by_the_caller():
    with pytest.raises(OptionError, match=r"cannot be sent to worker processes \[at=.inner.*generator"):
        list(loader_of(Locked()))
    loader = hr.DataLoader(Locked(), batch_size=2)
    assert lists(loader) == [[0, 1], [2]]
    assert "the dataset cannot be sent to a worker process" in loader.explain()
    assert lists(hr.DataLoader(iter(range(3)), batch_size=2)) == [[0, 1], [2]], "a plain iterator"


class Marking(IterableDataset):
    """Leaves word when its stream is closed."""

    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        info = get_worker_info()
        try:
            yield from range(1000)
        finally:
            (self.folder / f"closed{info.id if info else ''}").touch()


def expect_files(folder, names):
    until = time.monotonic() + 30
    while not all((folder / name).exists() for name in names) and time.monotonic() < until:
        time.sleep(0.01)
    assert sorted(path.name for path in folder.iterdir()) == names


def test_streams_are_closed_when_nobody_wants_more_of_them(tmp_path):
    with closing(hr.DataLoader(Marking(tmp_path), batch_size=2, num_workers=0)) as loader:
        iterator = iter(loader)
        next(iterator)
        assert list(tmp_path.iterdir()) == []
        del iterator
        assert [path.name for path in tmp_path.iterdir()] == ["closed"]
    (tmp_path / "closed").unlink()
    with closing(loader_of(Marking(tmp_path))) as loader:
        with pytest.warns(UserWarning, match="begin with the same"):
            assert len(list(islice(loader, 10))) == 10
        expect_files(tmp_path, ["closed0", "closed1"])
