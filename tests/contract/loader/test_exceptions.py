"""What is not as in torch: the table of the reference, row by row, each with torch's way beside ours."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import Dataset, DistributedSampler, get_worker_info

import headrace as hr
from headrace.errors import CollateError, OptionError, SampleError, StaleIteratorError, WorkerError
from tests.contract.loader.datasets import Batched, Numbers, Pair

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "dataloader.md"


def lists(loader):
    return [batch.tolist() for batch in loader]


def rows(samples):
    return samples


def order_comes_from_the_seed_and_the_epoch_alone():
    def epochs_of(make):
        torch.manual_seed(5)
        loader = make(Numbers(20), batch_size=20, shuffle=True, num_workers=0)
        one = lists(loader)
        torch.manual_seed(5)
        return one, lists(loader)

    same, again = epochs_of(TorchLoader)
    assert same == again, "torch's generator says the order"
    first, second = epochs_of(hr.DataLoader)
    assert first != second
    assert first == lists(hr.DataLoader(Numbers(20), batch_size=20, shuffle=True, num_workers=0))


def a_generator_gives_its_initial_seed_and_is_not_moved():
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    lists(hr.DataLoader(Numbers(20), batch_size=4, shuffle=True, num_workers=0, generator=generator))
    assert torch.equal(generator.get_state(), before)
    lists(TorchLoader(Numbers(20), batch_size=4, shuffle=True, num_workers=0, generator=generator))
    assert not torch.equal(generator.get_state(), before)
    loader = hr.DataLoader(Numbers(4), generator=generator)
    with pytest.raises(OptionError, match="generator"):
        loader.generator = torch.Generator()


def epochs_advance_and_a_forgotten_set_epoch_is_told():
    sampler = DistributedSampler(Numbers(8), num_replicas=2, rank=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lists(TorchLoader(Numbers(8), sampler=sampler)) == lists(TorchLoader(Numbers(8), sampler=sampler))
    loader = hr.DataLoader(Numbers(8), sampler=sampler, num_workers=0)
    first = lists(loader)
    with pytest.warns(UserWarning, match="gives epoch 1 the order of the epoch before"):
        assert lists(loader) == first
    loader.set_epoch(2)
    assert sampler.epoch == 2
    assert lists(loader) != first


def ranks_are_split_without_a_sampler():
    found = []
    for rank in range(2):
        topology = hr.Topology(rank=rank, world_size=2)
        found += lists(hr.DataLoader(Numbers(6), batch_size=3, num_workers=0, topology=topology))
    assert sorted(number for batch in found for number in batch) == list(range(6))


def workers_are_as_many_as_pay():
    assert TorchLoader(Numbers(4)).num_workers == 0
    loader = hr.DataLoader(Numbers(4))
    assert loader.num_workers >= 1
    assert loader.options.num_workers == "auto"


def workers_may_be_threads():
    class Informed(Numbers):
        def __getitem__(self, index):
            return get_worker_info()

    (batch,) = hr.DataLoader(Informed(2), batch_size=2, num_workers=2, engine="threads", collate_fn=rows)
    assert batch == [None, None]
    with pytest.raises(OptionError, match=r"worker_init_fn.*processes"):
        hr.DataLoader(Numbers(4), num_workers=2, engine="threads", worker_init_fn=print)


def worker_init_fn_is_called_once_for_a_worker_that_stays():
    calls = []

    class Counting(Numbers):
        def __getitem__(self, index):
            return len(calls)

    ours = hr.DataLoader(Counting(1), num_workers=1, engine="processes", worker_init_fn=calls.append)
    try:
        assert lists(ours) + lists(ours) == [[1], [1]]
    finally:
        ours.close()


def a_second_iterator_ends_the_first():
    theirs, ours = (make(Numbers(4), num_workers=0) for make in (TorchLoader, hr.DataLoader))
    one, other = iter(theirs), iter(theirs)
    assert [next(one).item(), next(other).item(), next(one).item()] == [0, 0, 1]
    one, other = iter(ours), iter(ours)
    assert next(other).item() == 0
    with pytest.raises(StaleIteratorError):
        next(one)


def prefetch_factor_is_none_unless_it_is_given():
    assert TorchLoader(Numbers(4), num_workers=1).prefetch_factor == 2
    assert hr.DataLoader(Numbers(4), num_workers=1).prefetch_factor is None


def transforms_draw_by_the_sample():
    class Drawing(Numbers):
        def __getitem__(self, index):
            return hr.rng().random()

    orders = [hr.DataLoader(Drawing(6), batch_size=6, num_workers=num) for num in (0, 2)]
    assert lists(orders[0]) == lists(orders[1])


def batches_come_in_order():
    loader = hr.DataLoader(Numbers(20), num_workers=3, engine="threads", in_order=False)
    assert loader.in_order is False
    assert lists(loader) == [[number] for number in range(20)]


def stop_iteration_in_a_dataset_is_an_error():
    class Stopping(Numbers):
        def __getitem__(self, index):
            if index == 2:
                raise StopIteration
            return index

    assert lists(TorchLoader(Stopping(5), num_workers=0)) == [[0], [1]], "the rest of the epoch is lost"
    for num_workers in (0, 1):
        with pytest.raises(WorkerError, match="StopIteration"):
            lists(hr.DataLoader(Stopping(5), num_workers=num_workers, engine="threads"))


def getitems_gives_a_sample_for_each_id():
    class Losing(Batched):
        def __getitems__(self, indices):
            return indices[1:]

    assert lists(TorchLoader(Losing(4), batch_size=4, num_workers=0)) == [[1, 2, 3]]
    with pytest.raises(SampleError, match="another number of samples"):
        lists(hr.DataLoader(Losing(4), batch_size=4, num_workers=0))
    assert list(hr.DataLoader(Losing(4), batch_size=4, num_workers=0, collate_fn=rows)) == [[1, 2, 3]]


def samples_that_do_not_fit_together_are_a_collate_error():
    class Growing(Numbers):
        def __getitem__(self, index):
            return torch.zeros(index)

    with pytest.raises(RuntimeError):
        list(TorchLoader(Growing(3), batch_size=3, num_workers=0))
    with pytest.raises(CollateError) as caught:
        list(hr.DataLoader(Growing(3), batch_size=3, num_workers=0))
    assert isinstance(caught.value.__cause__, RuntimeError), "torch's own error is the cause"


def dataclasses_are_collated():
    class Pairs(Numbers):
        def __getitem__(self, index):
            return Pair(index, -index)

    with pytest.raises(TypeError):
        list(TorchLoader(Pairs(2), batch_size=2, num_workers=0))
    (batch,) = hr.DataLoader(Pairs(2), batch_size=2, num_workers=0)
    assert (batch.left.tolist(), batch.right.tolist()) == ([0, 1], [0, -1])


def an_empty_batch_of_a_sampler_is_refused():
    assert list(TorchLoader(Numbers(4), batch_sampler=[[]], num_workers=0, collate_fn=rows)) == [[]]
    with pytest.raises(OptionError, match="empty batch"):
        list(hr.DataLoader(Numbers(4), batch_sampler=[[]], num_workers=0, collate_fn=rows))


def a_timeout_without_workers_is_refused_when_the_loader_is_made():
    with pytest.raises(AssertionError):
        iter(TorchLoader(Numbers(4), num_workers=0, timeout=1))
    with pytest.raises(OptionError, match="timeout is for workers"):
        hr.DataLoader(Numbers(4), num_workers=0, timeout=1)


def it_is_no_subclass():
    assert not isinstance(hr.DataLoader(Numbers(4)), TorchLoader)


def the_sampler_only_says_whether_the_loader_shuffles():
    loader = hr.DataLoader(Numbers(30), batch_size=30, shuffle=True, num_workers=0)
    assert lists(loader) != [list(loader.sampler)]
    assert isinstance(loader.dataset, Dataset)


ROWS = {
    "order of `shuffle=True`": order_comes_from_the_seed_and_the_epoch_alone,
    "`generator`": a_generator_gives_its_initial_seed_and_is_not_moved,
    "epochs": epochs_advance_and_a_forgotten_set_epoch_is_told,
    "several ranks": ranks_are_split_without_a_sampler,
    "default of `num_workers`": workers_are_as_many_as_pay,
    "workers": workers_may_be_threads,
    "`worker_init_fn`": worker_init_fn_is_called_once_for_a_worker_that_stays,
    "a second `iter` while one is alive": a_second_iterator_ends_the_first,
    "`prefetch_factor`": prefetch_factor_is_none_unless_it_is_given,
    "random transforms": transforms_draw_by_the_sample,
    "`in_order=False`": batches_come_in_order,
    "`loader.sampler` where none was given": the_sampler_only_says_whether_the_loader_shuffles,
    "`StopIteration` in a dataset": stop_iteration_in_a_dataset_is_an_error,
    "`__getitems__` that gives fewer samples": getitems_gives_a_sample_for_each_id,
    "samples that do not fit together": samples_that_do_not_fit_together_are_a_collate_error,
    "dataclasses as samples": dataclasses_are_collated,
    "an empty batch of a batch sampler": an_empty_batch_of_a_sampler_is_refused,
    "`timeout` with `num_workers=0`": a_timeout_without_workers_is_refused_when_the_loader_is_made,
    "`isinstance(loader, torch.utils.data.DataLoader)`": it_is_no_subclass,
}
ELSEWHERE = "iterable datasets"
"""Rows about datasets that are iterated over begin so; `test_streams_as_torch.py` has their contract."""


def documented_rows():
    """The first column of the table of differences."""
    section = REFERENCE.read_text().split("## Differences from torch", 1)[1].split("\n## ", 1)[0]
    return [row.split("|")[1].strip() for row in re.findall(r"^\|.*\|$", section, re.MULTILINE)[2:]]


@pytest.mark.parametrize("row", ROWS)
def test_it_differs_from_torch_as_the_reference_says(row):
    ROWS[row]()


def test_the_reference_lists_these_differences_and_no_others():
    assert [row for row in documented_rows() if not row.startswith(ELSEWHERE)] == list(ROWS)
