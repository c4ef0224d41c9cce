"""What concerns workers: who they are, how long they may take, what they are told at their start."""

from __future__ import annotations

import os
import threading
import time

import pytest
import torch
from torch.utils.data import get_worker_info

from tests.contract.loader.datasets import Numbers


class Slow(Numbers):
    """One of the samples takes a long time, once."""

    def __init__(self, num, slow, takes_s):
        super().__init__(num)
        self.slow = slow
        self.takes_s = takes_s

    def __getitem__(self, index):
        if index == self.slow:
            time.sleep(self.takes_s)
        return index


class Informed(Numbers):
    """Tells what its worker knows of itself."""

    def __getitem__(self, index):
        info = get_worker_info()
        return os.getpid(), None if info is None else (info.id, info.num_workers, info.dataset is self, info.seed)


def rows(samples):
    return samples


def test_a_batch_that_does_not_come_in_time_is_a_runtime_error(worker_kit):
    loader = worker_kit.make(Slow(8, slow=4, takes_s=5), batch_size=2, timeout=2.0)
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match=r"timed out after 2(\.0)? seconds"):
        next(iterator)


def test_there_is_no_limit_by_default_and_one_that_is_kept_changes_nothing(worker_kit):
    loader = worker_kit.make(Slow(4, slow=1, takes_s=0.4), batch_size=2)
    assert loader.timeout == 0
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
    loader = worker_kit.make(Slow(4, slow=1, takes_s=0.01), batch_size=2, timeout=60)
    assert loader.timeout == 60
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_samples_are_made_in_other_processes_that_know_who_they_are(process_kit):
    (batch,) = process_kit.make(Informed(2), batch_size=2, collate_fn=rows)
    for process, (number, num_workers, knows_the_dataset, seed) in batch:
        assert process != os.getpid()
        assert (number, num_workers, knows_the_dataset) == (0, 1, True)
        assert isinstance(seed, int)


def test_the_trainers_process_has_no_worker_info(kit):
    assert get_worker_info() is None
    if not kit.has_processes:
        (batch,) = kit.make(Informed(2), batch_size=2, collate_fn=rows)
        assert batch == [(os.getpid(), None)] * 2


def test_a_worker_is_told_its_number_before_its_first_sample(process_kit):
    marks = []

    class Marked(Numbers):
        def __getitem__(self, index):
            return list(marks), get_worker_info().id

    loader = process_kit.make(Marked(2), batch_size=2, collate_fn=rows, worker_init_fn=marks.append)
    assert list(loader) == [[([0], 0), ([0], 0)]]
    assert loader.worker_init_fn == marks.append
    assert marks == [], "not in this process"


def test_a_failing_worker_init_fn_is_raised_at_the_first_batch(process_kit):
    def fail(number):
        raise LookupError(f"worker {number} finds nothing")

    iterator = iter(process_kit.make(Numbers(4), worker_init_fn=fail))
    with pytest.raises(LookupError, match="worker 0 finds nothing"):
        next(iterator)


def test_a_worker_init_fn_is_not_called_without_workers(kit):
    if not kit.has_workers:
        called = []
        assert len(list(kit.make(Numbers(2), worker_init_fn=called.append))) == 2
        assert called == []


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_start_methods_are_taken_by_name_or_as_a_context(worker_kit, method):
    by_name = worker_kit.make(Numbers(2), multiprocessing_context=method)
    assert by_name.multiprocessing_context.get_start_method() == method
    by_context = worker_kit.make(Numbers(2), multiprocessing_context=torch.multiprocessing.get_context(method))
    assert by_context.multiprocessing_context.get_start_method() == method
    if method == "fork":
        assert [batch.tolist() for batch in by_name] == [[0], [1]]


def test_batches_are_made_ahead_and_no_more_than_asked_for(worker_kit):
    if worker_kit.has_processes:
        pytest.skip("what a worker process has begun cannot be seen from here")
    begun = []

    class Counting(Numbers):
        def __getitem__(self, index):
            begun.append(index)
            return index

    iterator = iter(worker_kit.make(Counting(50), prefetch_factor=2))
    next(iterator)
    deadline_s = time.monotonic() + 60
    while len(begun) < 5 and time.monotonic() < deadline_s:
        time.sleep(0.01)
    time.sleep(0.1)
    assert sorted(begun) == list(range(5)), "the one that was handed over, and two for each of two workers"


def test_batches_come_from_any_thread(kit):
    loader = kit.make(Numbers(6), batch_size=2)
    found = []
    thread = threading.Thread(target=lambda: found.extend(batch.tolist() for batch in loader))
    thread.start()
    thread.join()
    assert found == [[0, 1], [2, 3], [4, 5]]


def test_an_iterator_may_go_from_thread_to_thread(kit):
    iterator = iter(kit.make(Numbers(6), batch_size=2))
    found = [next(iterator).tolist()]
    thread = threading.Thread(target=lambda: found.extend(batch.tolist() for batch in iterator))
    thread.start()
    thread.join()
    assert found == [[0, 1], [2, 3], [4, 5]]
