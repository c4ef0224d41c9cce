"""Worker processes that start while the caller's thread, or threads, make the batches, and take over from them."""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from itertools import islice

import cloudpickle
import pytest
import torch
from torch.utils.data import Dataset

import headrace as hr
from headrace.errors import StaleIteratorError
from headrace.loader.makers import Makers
from tests.relieved import Moment

NUM, BATCH = 22, 4
NUM_BATCHES = 6

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import the test framework


class Rows(Dataset):
    """Samples that tell in which process they were made, and what the dataset was told."""

    def __init__(self):
        self.offset = 0

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        draws = torch.tensor(hr.rng().random(3))
        return {"index": index + self.offset, "draws": draws, "process": os.getpid()}


class Unwilling(Rows):
    """Rows that do something to a process that is not the one that has made them."""

    def __init__(self, act):
        super().__init__()
        self.act, self.home = act, os.getpid()

    def __setstate__(self, state):
        self.__dict__.update(state)
        if os.getpid() != self.home:
            self.act()


def complain():
    raise FileNotFoundError("the index of the dataset is not here")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def loader_of(dataset=None, **options):
    options = {"shuffle": True, "seed": 5} | options
    return hr.DataLoader(Rows() if dataset is None else dataset, BATCH, **options)


def told(batches):
    """What is the same whoever makes it."""
    return [(batch["index"].tolist(), batch["draws"].tolist()) for batch in batches]


def makers(batches):
    """The processes of each batch."""
    return [set(batch["process"].tolist()) for batch in batches]


def is_ours(processes):
    return processes == {os.getpid()}


@pytest.fixture(scope="module")
def expected():
    """Five epochs as the caller's thread makes them."""
    with closing(loader_of(num_workers=0)) as loader:
        return [told(loader) for _ in range(5)]


@pytest.mark.parametrize(
    ("border", "num_workers"), [(0, "auto"), (1, "auto"), (4, "auto"), (8, "auto"), (3, 1), (7, 1)]
)
def test_processes_take_over_between_two_batches_and_nothing_else_changes(border, num_workers, monkeypatch, expected):
    Moment(monkeypatch, NUM, border)
    with closing(loader_of(num_workers=num_workers)) as loader:
        epochs = [list(loader) for _ in range(4)]
        assert [told(epoch) for epoch in epochs] == expected[:4]
        ours = [is_ours(processes) for epoch in epochs for processes in makers(epoch)]
        num_epochs, rest = divmod(border, NUM_BATCHES + 2)  # of which the first border is the begin, the last the end
        num_before = NUM_BATCHES * (1 + num_epochs) + min(NUM_BATCHES, max(0, rest - 1))
        assert ours == [True] * num_before + [False] * (len(ours) - num_before)
        assert "they have taken over" in loader.explain()
        assert loader.explain().splitlines()[2].startswith("engine   processes")
        assert loader.num_workers == (2 if num_workers == "auto" else 1)
        assert loader.stats().stages["deliver"].items == 4 * NUM, "nothing is counted twice"


def test_what_is_said_before_meanwhile_and_afterwards(monkeypatch):
    Moment(monkeypatch, NUM, border=3)
    with closing(loader_of()) as loader:
        assert "the caller's thread (" in loader.explain()
        assert "worker processes take over once another epoch begins" in loader.explain()
        list(loader)
        batches = iter(loader)
        next(batches)
        assert "worker processes start meanwhile" in loader.explain()
        assert loader.num_workers == 0
        list(batches)
        assert "worker processes start meanwhile" not in loader.explain()
        assert "2 workers" in loader.explain()


def test_a_state_means_the_same_before_and_after(monkeypatch, expected):
    Moment(monkeypatch, NUM, border=4)
    with closing(loader_of()) as loader, closing(loader_of(num_workers=0)) as other:
        list(loader)
        batches = iter(loader)
        seen = []
        for number in range(1, NUM_BATCHES + 1):
            seen += told(islice(batches, 1))
            other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
            assert seen + told(other) == expected[1], number
        assert not is_ours(makers(loader)[0])


def test_processes_that_start_outlive_states_and_sizes_and_second_iterators(monkeypatch, expected):
    moment = Moment(monkeypatch, NUM, border=10**6)
    with closing(loader_of()) as loader:
        list(loader)
        first = iter(loader)
        seen = told(islice(first, 2))
        starting = loader._life.run.staff.relief.makers
        loader.load_state_dict(loader.state_dict())
        second = iter(loader)
        seen += told(islice(second, 1))
        loader.set_batch_size(2)
        assert loader._life.run.staff.relief.makers is starting
        moment.border = 1
        rest = list(second)
        assert makers(rest)[0] == {os.getpid()}
        assert not is_ours(makers(rest)[1])
        assert rows(seen) + rows(told(rest)) == rows(expected[1])
        assert loader._life.run.staff.present is starting
        third, fourth = iter(loader), iter(loader)
        with pytest.raises(StaleIteratorError):
            next(third)
        assert rows(told(fourth)) == rows(expected[2])


def rows(batches):
    return [row for index, draws in batches for row in zip(index, draws, strict=True)]


def test_an_iterator_that_is_stale_does_not_take_over(monkeypatch, expected):
    moment = Moment(monkeypatch, NUM, border=10**6)
    with closing(loader_of()) as loader:
        list(loader)
        first = iter(loader)
        next(first)
        second = iter(loader)
        moment.border = 0
        with pytest.raises(StaleIteratorError):
            next(first)
        assert told(second) == expected[2]
        assert loader.num_workers == 2


@pytest.mark.parametrize("persistent_workers", [False, True])
def test_a_copy_of_the_dataset_that_is_out_of_date_is_not_used(persistent_workers, monkeypatch, expected):
    moment = Moment(monkeypatch, NUM, border=10**6)
    dataset = Rows()
    with closing(loader_of(dataset, persistent_workers=persistent_workers)) as loader:
        list(loader)
        batches = iter(loader)
        next(batches)
        dataset.offset, moment.border = 1000, 0
        rest = list(islice(batches, 1))
        assert loader._life.run.staff.relief.makers is None, "nobody looks through the dataset again at each batch"
        rest += list(batches)
        assert all(is_ours(processes) for processes in makers(rest))
        assert min(rest[0]["index"].tolist()) >= 1000
        assert all(is_ours(processes) for processes in makers(loader)), "an epoch has to be gone through with it again"
        later = [batch for _ in range(2) for batch in loader]
        assert not is_ours(makers(later)[-1])
        assert min(later[-1]["index"].tolist()) >= 1000


def test_a_dataset_that_changes_with_each_epoch_stays_with_the_caller(monkeypatch):
    Moment(monkeypatch, NUM)
    dataset = Rows()
    with closing(loader_of(dataset)) as loader:
        for epoch in range(4):
            dataset.offset = 1000 * epoch
            assert all(is_ours(processes) for processes in makers(loader))
            assert loader._life.run.staff.relief.makers is None


def test_a_dataset_that_changes_afterwards_has_new_workers_only_when_that_pays_again(monkeypatch, expected):
    Moment(monkeypatch, NUM)
    dataset = Rows()
    with closing(loader_of(dataset)) as loader:
        list(loader)
        assert not is_ours(makers(loader)[0])
        dataset.offset = 1000
        changed = list(loader)
        assert all(is_ours(processes) for processes in makers(changed))
        assert [[row - 1000 for row in index] for index, _ in told(changed)] == [index for index, _ in expected[2]]


@pytest.mark.parametrize(("act", "why"), [(complain, "is not here"), (die, "was killed by SIGKILL")])
def test_workers_that_cannot_start_are_told_once_and_the_loader_goes_on(act, why, monkeypatch, expected):
    Moment(monkeypatch, NUM, border=2)
    with closing(loader_of(Unwilling(act))) as loader:
        list(loader)
        with pytest.warns(RuntimeWarning, match=f"have not started: .*{why}"):
            second = list(loader)
        assert told(second) == expected[1]
        assert told(loader) == expected[2]
        assert "worker processes do not take over: " in loader.explain()
        assert why in loader.explain()
        assert loader.num_workers == 0


def test_where_the_system_gives_no_process_the_loader_goes_on(monkeypatch, expected):
    Moment(monkeypatch, NUM)

    def refuse(*_, **__):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    with closing(loader_of()) as loader:
        list(loader)
        monkeypatch.setattr(subprocess, "Popen", refuse)
        assert told(loader) == expected[1]
        monkeypatch.undo()
        assert told(loader) == expected[2]
        assert "worker processes do not take over: worker processes cannot be started" in loader.explain()


def test_processes_that_cannot_begin_leave_the_batches_to_the_others(monkeypatch, expected):
    Moment(monkeypatch, NUM, border=3)
    with closing(loader_of()) as loader:
        list(loader)
        batches = iter(loader)
        seen = told(islice(batches, 1))
        opened = Makers.open

        def refuse(makers, steps):
            if makers.choice.kind == "processes":
                raise OSError(errno.EMFILE, "Too many open files")
            return opened(makers, steps)

        monkeypatch.setattr(Makers, "open", refuse)
        assert seen + told(batches) == expected[1]
        assert told(loader) == expected[2]
        assert "do not take over: OSError: [Errno 24] Too many open files" in loader.explain()


def begun(loader):
    list(loader)
    batches = iter(loader)
    next(batches)
    assert loader._life.run.staff.awaits_relief
    return batches


def test_nothing_is_left_of_processes_that_have_not_taken_over(monkeypatch):
    Moment(monkeypatch, NUM, border=10**6)
    loader = loader_of()
    batches = begun(loader)
    loader.close()
    with pytest.raises(hr.errors.LoaderClosedError):
        next(batches)
    begun(loader)
    del loader
    gc.collect()
    for _ in begun(loader_of()):
        break


def test_a_loader_that_is_dropped_is_not_relieved(monkeypatch, expected):
    moment = Moment(monkeypatch, NUM, border=10**6)
    loader = loader_of()
    batches = begun(loader)
    del loader
    moment.border = 0
    assert told(batches) == expected[1][1:]


def test_after_a_close_all_begins_anew(monkeypatch, expected):
    Moment(monkeypatch, NUM)
    with closing(loader_of()) as loader:
        list(loader)
        assert not is_ours(makers(loader)[0])
        loader.close()
        assert loader.num_workers == 0
        assert told(loader) == expected[2]
        assert loader._life.run.staff.relief.makers is None
        assert not is_ours(makers(loader)[0])


def test_workers_that_are_gone_do_not_come_again(monkeypatch, expected):
    Moment(monkeypatch, NUM)
    with closing(loader_of()) as loader:
        list(loader)
        process = makers(loader)[0].pop()
        os.kill(process, signal.SIGKILL)
        crew = loader._life.run.staff.present.engine.crew
        while crew.is_whole:
            pass
        third = list(loader)
        assert told(third) == expected[2]
        assert is_ours(makers(third)[0])
        assert "they have taken over and are gone" in loader.explain()


def test_a_forked_child_goes_on_by_itself(monkeypatch, expected):
    moment = Moment(monkeypatch, NUM, border=10**6)
    with closing(loader_of()) as loader:
        batches = begun(loader)
        moment.border = 3
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if told(batches) == expected[1][1:] and told(loader) == expected[2] else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert told(batches) == expected[1][1:]
        assert loader.num_workers == 2
