"""The promises of the order through the loader itself, on a grid of cases: every rank of a job in one process."""

from __future__ import annotations

import functools
import json

import pytest

from tests.property.loader.grid import KINDS, NUM_CASES, Case, draw_cases, missing_pairs
from tests.simulated_job import Batch, Job, padded, valid_rows

CASES = draw_cases()
CHUNKS = 20


def contents(kind, batch) -> list[int]:
    """The number that each sample of a batch holds."""
    if kind == "shards":
        return [int(text) for text in batch[0]]
    if kind == "folder":
        assert (batch[0] == batch[0][:, :1, :1, :1]).all()
        return batch[0][:, 0, 0, 0].tolist()
    return batch[0].tolist()


class Watched:
    """Runs one loader to the end of its epoch and holds what it tells against what it delivers."""

    def __init__(self, loader, kind, cut=None):
        self.batches: list[Batch] = []
        self.state = None
        iterator, num_steps = iter(loader), len(loader)
        for number in range(loader.step, num_steps + 1):
            assert (loader.step, loader.steps_left, len(loader)) == (number, num_steps - number, num_steps)
            if number == cut:
                self.state = json.loads(json.dumps(loader.state_dict()))
            batch = next(iterator, None)
            assert (batch is None) == (number == num_steps)
            if batch is not None:
                self.see(batch, loader, kind)

    def see(self, batch, loader, kind):
        *_, index, valid = batch
        assert loader.valid.tolist() == valid.tolist()
        assert contents(kind, batch) == index.tolist()
        self.batches.append((index.tolist(), valid.tolist()))


@pytest.fixture
def whole_run(dataset_of):
    """The global steps of an epoch and the next as one rank delivers them, nothing padded."""

    @functools.cache
    def run(dataset, global_batch, tail, epoch, options):
        tail = "drop" if tail == "drop" else "keep"
        job = Job(batch_size=global_batch, options=dict(options) | {"tail": tail, "num_workers": 0})
        loader = job.loader(dataset_of(*dataset))
        loader.set_epoch(epoch)
        return [Watched(loader, dataset[0]).batches for _ in range(2)]

    return run


def check_exact(steps: list[Batch], case: Case, job: Job, num: int) -> None:
    """Promise 1: every sample once; what a tail leaves out or repeats is less than one global batch."""
    rows = valid_rows(steps)
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(range(num))
    if case.asked_tail == "drop":
        assert len(rows) == num - num % job.global_batch
    else:
        assert len(rows) == num
    padding = [not good for _, valid in steps for good in valid]
    assert sum(padding) < job.global_batch
    assert not any(padding[: len(padding) - job.global_batch]), "padding stands in the last step alone"


def check_case(case: Case, dataset, whole_run) -> None:
    """Runs a case whole and, from a state in its middle, on another split of the same global batch."""
    kind, job = case.dataset[0], case.job()
    options = tuple(sorted(case.order_options().items()))
    first, second = whole_run(case.dataset, job.global_batch, case.asked_tail, case.epoch, options)
    expected = padded(first, job, case.asked_tail)
    loaders = job.loaders(dataset)
    for loader in loaders:
        loader.set_epoch(case.epoch)
    num_steps = len(loaders[0])
    cut = round(case.cut * num_steps)
    runs = [Watched(loader, kind, cut) for loader in loaders]
    steps = job.join([run.batches for run in runs])  # promise 2: as many on every rank
    assert steps == expected  # promises 3 and 4
    check_exact(steps, case, job, len(dataset))
    if case.shuffle and case.window_samples != 1 and len(valid_rows(first)) >= 24:
        assert valid_rows(first) != valid_rows(second)  # promise 6
    states = [run.state for run in runs]
    assert all(state == states[0] for state in states), "any rank's state stands for the job"
    check_resumed(case, dataset, states[0], cut, first, second)


def check_resumed(case: Case, dataset, state, cut: int, first: list[Batch], second: list[Batch]) -> None:
    """Promise 5: the rest of the epoch and the whole next one, on another topology unless the state forbids it."""
    kind, job = case.dataset[0], case.job()
    after = job.with_options(num_workers=0) if state["rank_batches"] else case.job_after()
    for rank in sorted({0, after.world_size // 2, after.world_size - 1}):
        loader = after.loader(dataset, rank)
        loader.load_state_dict(state)
        epochs = [
            [batch for step in padded(steps, after, case.asked_tail) for batch in after.split(step, rank)]
            for steps in (first, second)
        ]
        if state["samples_delivered"] == len(dataset):
            done = len(epochs[0])
        else:
            done = state["samples_delivered"] // job.global_batch * after.accumulate + state["rank_batches"]
        assert Watched(loader, kind).batches == epochs[0][done:]
        if rank == after.world_size - 1:
            assert Watched(loader, kind).batches == epochs[1]


@pytest.mark.usefixtures("machine_read_once")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_promises(chunk, dataset_of, whole_run):
    for case in CASES[chunk::CHUNKS]:
        try:
            check_case(case, dataset_of(*case.dataset), whole_run)
        except Exception as error:
            error.add_note(repr(case))
            raise


def test_the_grid_is_as_large_and_as_even_as_it_says():
    assert len(set(CASES)) == NUM_CASES >= 2_000
    assert {case.dataset for case in CASES} == set(KINDS)
    assert missing_pairs(CASES) == []
