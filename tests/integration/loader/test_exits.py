"""Code of the user that would end the program, in each place that a worker calls."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from contextlib import closing

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

import headrace as hr
from headrace.errors import WorkerDiedError, WorkerError


def leave(_=None):
    """Ends as programs do."""
    sys.exit(3)


def refuse_arguments(_=None):
    """Ends as a command line does whose arguments are wrong."""
    argparse.ArgumentParser(prog="tokenizer").parse_args(["--no-such-option"])


def interrupt(_=None):
    """Looks like Ctrl-C."""
    raise KeyboardInterrupt


class Numbers(Dataset):
    """Calls a function at one of its samples."""

    def __init__(self, call=None):
        self.call = call

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 5 and self.call is not None:
            self.call()
        return index


class ByTheBatch(Numbers):
    """The same for all samples of a batch."""

    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Stream(IterableDataset):
    """The same for a stream."""

    def __init__(self, call):
        self.numbers = Numbers(call)

    def __iter__(self):
        return (self.numbers[index] for index in range(8))


def only_the_third_batch(call):
    """Whatever makes a batch of samples calls it at the third batch."""

    def collate(samples):
        if samples[0] == 4:
            call()
        return torch.tensor(samples)

    return collate


class Tokenizer:
    """Stands for a field of a sample."""

    def __init__(self, call):
        self.call = call

    def __call__(self, texts):
        if "4" in texts:
            self.call()
        return torch.tensor([len(text) for text in texts])


class Texts(Dataset):
    """Samples with a text."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return {"text": str(index), "index": index}


PLACES = {
    "dataset": lambda call: (Numbers(call), {}),
    "getitems": lambda call: (ByTheBatch(call), {}),
    "collate_fn": lambda call: (Numbers(), {"collate_fn": only_the_third_batch(call)}),
    "tokenizer": lambda call: (Texts(), {"collate": {"text": Tokenizer(call)}}),
    "stream": lambda call: (Stream(call), {}),
}
NAMES_ITS_SAMPLE = {
    "dataset": "headrace: sample 5 of Numbers",
    "getitems": "headrace: samples [4, 5] of ByTheBatch",
    "stream": "headrace: stream 0 of Stream, in the batch behind its first 4 samples",
}


def told(error):
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("engine", ["threads", "processes"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("call", "deed"),
    [
        (leave, "called sys.exit(3), or raised SystemExit, in leave ("),
        (refuse_arguments, "called sys.exit(2), or raised SystemExit, in exit ("),
        (interrupt, "raised KeyboardInterrupt, in interrupt ("),
    ],
    ids=["exit", "argparse", "interrupt"],
)
def test_an_exit_in_a_worker_is_an_error_at_its_place(engine, place, call, deed):
    dataset, options = PLACES[place](call)
    with closing(hr.DataLoader(dataset, 2, engine=engine, num_workers=1, **options)) as loader:
        iterator = iter(loader)
        assert len([next(iterator), next(iterator)]) == 2
        with pytest.raises(WorkerError) as caught:
            next(iterator)
    assert not isinstance(caught.value, WorkerDiedError)
    assert f"the work of a step {deed}" in str(caught.value)
    assert "Raise an exception there" in str(caught.value)
    assert isinstance(caught.value.__cause__, BaseException)
    assert not isinstance(caught.value.__cause__, Exception)
    if place != "stream":
        assert caught.value.where["samples"] == "[4, 5]"
        assert caught.value.where["step"] == 2
    if call is not interrupt:
        assert NAMES_ITS_SAMPLE.get(place, "") in told(caught.value)


@pytest.mark.parametrize("place", PLACES)
def test_in_the_callers_thread_it_ends_the_program_as_anywhere(place):
    dataset, options = PLACES[place](leave)
    with closing(hr.DataLoader(dataset, 2, num_workers=0, **options)) as loader, pytest.raises(SystemExit):
        list(loader)


def test_looking_at_samples_before_the_first_batch_ends_nothing():
    with closing(hr.DataLoader(Numbers(leave), 2)) as loader:
        iterator = iter(loader)
        assert next(iterator).tolist() == [0, 1]
        assert next(iterator).tolist() == [2, 3]
        with pytest.raises((SystemExit, WorkerError)):  # as the engine that was chosen has it
            next(iterator)


@pytest.mark.parametrize(("call", "deed"), [(leave, r"called sys\.exit\(3\)"), (interrupt, "raised KeyboardInterrupt")])
def test_an_exit_in_worker_init_fn_names_it(call, deed):
    options = {"engine": "processes", "num_workers": 2, "worker_init_fn": call}
    with closing(hr.DataLoader(Numbers(), 2, **options)) as loader:
        with pytest.raises(WorkerError, match=rf"worker_init_fn {deed}.*stage=start") as caught:
            next(iter(loader))
        assert not isinstance(caught.value, WorkerDiedError)
        assert f"in {call.__name__}" in told(caught.value)


def test_an_exit_while_the_dataset_is_loaded_in_a_worker_says_so():
    class Reluctant(Numbers):
        def __setstate__(self, state):
            leave()

    with closing(hr.DataLoader(Reluctant(), 2, engine="processes", num_workers=1)) as loader:
        iterator = iter(loader)
        with pytest.raises(WorkerError, match=r"loading the dataset in a worker process called sys\.exit\(3\)"):
            next(iterator)


# --- the process itself


@pytest.mark.parametrize("code", [0, 7])
@pytest.mark.parametrize("place", ["dataset", "getitems", "collate_fn", "tokenizer"])
def test_a_process_that_is_ended_by_its_own_code_is_told_with_exit_code_and_samples(place, code):
    dataset, options = PLACES[place](lambda: os._exit(code))
    with closing(hr.DataLoader(dataset, 2, engine="processes", num_workers=1, **options)) as loader:
        iterator = iter(loader)
        assert len([next(iterator), next(iterator)]) == 2
        with pytest.raises(
            WorkerDiedError, match=rf"has ended with exit code {code} in a step.*samples=\[4, 5\]"
        ) as caught:
            next(iterator)
    assert "os._exit" in str(caught.value)


def test_a_process_that_is_ended_in_worker_init_fn_names_it():
    options = {"engine": "processes", "num_workers": 1, "worker_init_fn": lambda _: os._exit(7)}
    with closing(hr.DataLoader(Numbers(), 2, **options)) as loader:
        iterator = iter(loader)
        with pytest.raises(WorkerDiedError, match=r"has ended with exit code 7 in worker_init_fn.*os\._exit"):
            next(iterator)


def test_a_signal_in_worker_init_fn_names_both():
    options = {"engine": "processes", "num_workers": 1}
    options["worker_init_fn"] = lambda _: os.kill(os.getpid(), signal.SIGTERM)
    with closing(hr.DataLoader(Numbers(), 2, **options)) as loader:
        iterator = iter(loader)
        with pytest.raises(WorkerDiedError, match=r"was killed by SIGTERM in worker_init_fn"):
            next(iterator)


def in_a_child():
    """A child of the worker, as code has it that forks and ends the child with sys.exit; 5 where that went well."""
    child = os.fork()
    if child == 0:
        sys.exit(11)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Forking(Numbers):
    """Forks at each sample."""

    def __getitem__(self, index):
        return in_a_child()


def test_a_child_that_a_worker_forks_off_ends_with_its_own_exit_code():
    with closing(hr.DataLoader(Forking(), 2, engine="processes", num_workers=1)) as loader:
        assert [batch.tolist() for batch in loader] == [[11, 11]] * 4
