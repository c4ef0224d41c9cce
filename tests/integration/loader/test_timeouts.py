"""A batch that does not come in time: what is said of it, and that nothing is left hanging."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest
from torch.utils.data import Dataset, IterableDataset

import headrace as hr
from headrace.errors import BatchTimeoutError, LoaderClosedError, WorkerError


class Gate(Dataset):
    """One sample waits until a file is there."""

    def __init__(self, num, waiting, file):
        self.num = num
        self.waiting = waiting
        self.file = file

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        while index == self.waiting and not self.file.exists():
            time.sleep(0.01)
        return index


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_the_error_names_step_and_samples_and_the_loader_goes_on(engine, tmp_path):
    dataset = Gate(6, 3, tmp_path / "open")
    with closing(hr.DataLoader(dataset, 2, num_workers=1, engine=engine, timeout=2)) as loader:
        iterator = iter(loader)
        assert next(iterator).tolist() == [0, 1]
        with pytest.raises(BatchTimeoutError, match=r"after 2 seconds.*step=1.*samples=\[2, 3\]") as caught:
            next(iterator)
        assert isinstance(caught.value, WorkerError)
        assert isinstance(caught.value, RuntimeError)
        assert caught.value.retryable
        with pytest.raises(LoaderClosedError):
            next(iterator)
        assert loader.step == 1, "what was not delivered is not counted"
        (tmp_path / "open").touch()
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5]]


def test_keys_are_named(tmp_path):
    class Named(Gate):
        def __getitem__(self, key):
            super().__getitem__(self.waiting)
            return key

    dataset, threads = Named(2, 0, tmp_path / "open"), {"num_workers": 1, "engine": "threads"}
    with closing(hr.DataLoader(dataset, sampler=["a"], timeout=0.1, **threads)) as loader:
        with pytest.raises(BatchTimeoutError, match=r"samples=\['a'\]"):
            next(iter(loader))
        (tmp_path / "open").touch()


def test_a_sampler_that_says_nothing_is_named():
    go_on = threading.Event()

    def hesitating():
        yield 0
        go_on.wait(30)
        yield 1

    with closing(hr.DataLoader(range(4), sampler=hesitating(), num_workers=1, engine="threads", timeout=2)) as loader:
        iterator = iter(loader)
        assert next(iterator).tolist() == [0]
        with pytest.raises(BatchTimeoutError, match="stage=order"):
            next(iterator)
        go_on.set()


def test_the_start_of_workers_does_not_count():
    def take_your_time(_):
        time.sleep(4)

    options = {"num_workers": 1, "engine": "processes", "worker_init_fn": take_your_time, "timeout": 2}
    with closing(hr.DataLoader(range(4), 2, **options)) as loader:
        assert next(iter(loader)).tolist() == [0, 1]


def test_a_slow_consumer_is_not_late():
    with closing(hr.DataLoader(range(6), 2, num_workers=1, engine="threads", timeout=1)) as loader:
        for batch in loader:
            assert len(batch) == 2
            time.sleep(1.3)


class Rooted(Gate):
    """Cannot be sent to another process."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.rows = (row for row in "ab")


class GateStream(IterableDataset):
    """The same, iterated over."""

    def __init__(self, gate):
        self.gate = gate

    def __iter__(self):
        return (self.gate[index] for index in range(self.gate.num))


@pytest.mark.parametrize("kind", [Gate, Rooted])
@pytest.mark.parametrize("as_stream", [False, True], ids=["map", "stream"])
def test_a_dataset_that_hangs_at_its_first_sample_is_late_with_automatic_settings_too(kind, as_stream, tmp_path):
    gate = kind(6, 0, tmp_path / "open")
    with closing(hr.DataLoader(GateStream(gate) if as_stream else gate, 2, timeout=2)) as loader:
        iterator = iter(loader)
        with pytest.raises(BatchTimeoutError, match=r"after 2 seconds.*step=0"):
            next(iterator)
        with pytest.raises(LoaderClosedError):
            next(iterator)
        assert loader.step == 0
        (tmp_path / "open").touch()
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_nothing_is_made_before_the_time_begins(engine, tmp_path):
    gate = Gate(6, 0, tmp_path / "open")
    with closing(hr.DataLoader(gate, 2, timeout=1, engine=engine)) as loader:
        iterator = iter(loader)
        with pytest.raises(BatchTimeoutError):
            next(iterator)
        (tmp_path / "open").touch()


def test_what_keeps_the_time_is_told(tmp_path):
    (tmp_path / "open").touch()
    with closing(hr.DataLoader(Gate(6, 0, tmp_path / "open"), 2, timeout=1)) as loader:
        assert "timeout= is set" in loader.explain()
    with closing(hr.DataLoader(Rooted(6, 0, tmp_path / "open"), 2, timeout=1)) as loader:
        assert "one thread, for the timeout" in " ".join(loader.explain().split())
