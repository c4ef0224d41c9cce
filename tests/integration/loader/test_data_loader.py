"""The loader as its users hold it: arguments, life cycle, what it tells."""

import copy
import gc
import itertools
import os
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, RandomSampler, TensorDataset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OptionError, SampleError, StaleIteratorError


class Squares(Dataset):
    def __init__(self, num):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return torch.tensor([index, index * index]), f"name {index}"


class Faulty(Squares):
    def __getitem__(self, index):
        if index % 5 == 3:
            raise KeyError(f"nothing at {index}")
        return super().__getitem__(index)


def first_column(loader):
    return [values[:, 0].tolist() for values, _ in loader]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_any_map_style_dataset_is_delivered_in_order(num_workers):
    loader = hr.DataLoader(Squares(10), 4, num_workers=num_workers)
    assert first_column(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [names for _, names in loader][2] == ("name 8", "name 9")


def test_getitems_is_used_where_the_dataset_has_it():
    class Batched(TensorDataset):
        def __getitems__(self, indices):
            return [(self.tensors[0][index] + 100,) for index in indices]

    loader = hr.DataLoader(Batched(torch.arange(6)), 3, num_workers=2)
    assert [batch[0].tolist() for batch in loader] == [[100, 101, 102], [103, 104, 105]]


def test_shuffled_epochs_differ_and_each_is_whole():
    loader = hr.DataLoader(Squares(50), 8, shuffle=True, num_workers=2)
    epochs = [list(itertools.chain(*first_column(loader))) for _ in range(3)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    again = hr.DataLoader(Squares(50), 8, shuffle=True, num_workers=0)
    again.set_epoch(2)
    assert list(itertools.chain(*first_column(again))) == epochs[2]


def test_a_generator_sets_the_seed():
    seeds = [
        hr.DataLoader(Squares(30), 30, shuffle=True, generator=torch.Generator().manual_seed(s)) for s in (4, 4, 5)
    ]
    first, same, other = (first_column(loader) for loader in seeds)
    assert first == same != other


def test_exceptions_keep_their_type_and_name_the_sample():
    loader = hr.DataLoader(Faulty(10), 2, num_workers=2)
    iterator = iter(loader)
    assert next(iterator)[0][:, 0].tolist() == [0, 1]
    with pytest.raises(KeyError, match="nothing at 3") as caught:
        next(iterator)
    assert any("sample 3 of Faulty" in note for note in caught.value.__notes__)


def test_skipped_samples_keep_steps_even_and_are_counted():
    loader = hr.DataLoader(Faulty(20), 5, num_workers=2, on_error="skip")
    rows, valid = [], []
    for values, _ in loader:
        rows += values[:, 0].tolist()
        valid += loader.valid.tolist()
    assert len(rows) == 20
    assert [row for row, good in zip(rows, valid, strict=True) if good] == [i for i in range(20) if i % 5 != 3]
    assert loader.stats().counts["skipped_samples"] == 4


def test_samplers_are_honoured():
    sampled = hr.DataLoader(Squares(9), 2, sampler=[8, 1, 1, 4, 0], num_workers=2)
    assert first_column(sampled) == [[8, 1], [1, 4], [0]]
    assert len(sampled) == 3
    batched = hr.DataLoader(Squares(9), batch_sampler=[[3], [2, 2, 7]], num_workers=2)
    assert first_column(batched) == [[3], [2, 2, 7]]
    dropped = hr.DataLoader(Squares(9), 2, sampler=RandomSampler(range(9)), drop_last=True, num_workers=1)
    assert [len(values) for values, _ in dropped] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "arguments",
    [
        {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 4},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": 0},
        {"seed": "x"},
        {"seed": -1},
        {"seed": 2**64},
        {"generator": 3},
        {"topology": 3},
        {"dct_scaling": "yes"},
        {"extras": "indices"},
        {"memory_budget": -1},
    ],
)
def test_what_torch_refuses_is_refused(arguments):
    with pytest.raises(OptionError):
        hr.DataLoader(Squares(4), **arguments)


def test_a_call_written_for_torch_works_as_it_is():
    torch_call = {
        "timeout": 0,
        "worker_init_fn": None,
        "multiprocessing_context": None,
        "generator": None,
        "prefetch_factor": 2,
        "persistent_workers": True,
        "in_order": True,
    }
    loader = hr.DataLoader(Squares(4), 2, False, None, None, 2, None, False, False, **torch_call)
    assert first_column(loader) == [[0, 1], [2, 3]]
    assert "batch_size=2" in repr(loader)


def test_a_dataset_without_a_length_that_nobody_can_iterate_over_is_refused():
    class Keyed:
        def __getitem__(self, key):
            return key

    with pytest.raises(OptionError, match=r"neither map-style nor iterable.*__getitem__.*ShardDataset"):
        len(hr.DataLoader(Keyed(), 2))


class ByTheBatch(torch.utils.data.Dataset):
    def __init__(self, num_lost):
        self.num_lost = num_lost

    def __len__(self):
        return 6

    def __getitem__(self, index):
        raise AssertionError("not to be called")

    def __getitems__(self, ids):
        return [-number for number in ids][self.num_lost :]


def test_samples_made_by_the_batch_are_as_many_as_were_asked_for():
    assert [batch.tolist() for batch in hr.DataLoader(ByTheBatch(0), 3)] == [[0, -1, -2], [-3, -4, -5]]
    with pytest.raises(SampleError, match=r"__getitems__ of ByTheBatch.*got 2; accepted: 3"):
        next(iter(hr.DataLoader(ByTheBatch(1), 3)))


def test_datasets_that_are_read_by_the_batch_take_numbers_from_a_sampler_and_nothing_else(photographs):
    folder = ImageFolder(photographs, transform=v2.Resize((8, 8)))
    backwards = hr.DataLoader(folder, 2, sampler=[-1, 0, -60], extras="index")
    assert [batch[2].tolist() for batch in backwards] == [[59, 0], [0]]
    with pytest.raises(OptionError, match=r"got \['b'\].*integers"):
        list(hr.DataLoader(folder, sampler=["b"]))
    with pytest.raises(OptionError, match=r"got \[\[0, 1\]\].*batch_sampler="):
        list(hr.DataLoader(folder, batch_size=None, sampler=[[0, 1]]))
    for lost in (60, -61):
        with pytest.raises(IndexError, match=f"{lost} is out of range: there are 60"):
            list(hr.DataLoader(folder, sampler=[lost]))


@pytest.mark.parametrize("num", [0, 1, 3])
@pytest.mark.parametrize("world_size", [1, 4])
def test_tiny_datasets_end(num, world_size):
    lengths = set()
    for rank in range(world_size):
        loader = hr.DataLoader(Squares(num), 2, num_workers=1, topology=hr.Topology(rank=rank, world_size=world_size))
        lengths.add(len(list(loader)))
        assert len(loader) in lengths
    assert len(lengths) == 1


def test_progress_is_told():
    loader = hr.DataLoader(Squares(10), 4, num_workers=2)
    assert (loader.epoch, loader.step, loader.steps_left, len(loader)) == (0, 0, 3, 3)
    iterator = iter(loader)
    next(iterator)
    assert (loader.epoch, loader.step, loader.steps_left, len(loader)) == (0, 1, 2, 3)
    list(iterator)
    assert (loader.epoch, loader.step, loader.steps_left) == (0, 3, 0)
    next(iter(loader))
    assert (loader.epoch, loader.step) == (1, 1)


def test_peek_moves_nothing():
    loader = hr.DataLoader(Squares(12), 4, shuffle=True, num_workers=2)
    peeked = loader.peek()[0]
    assert torch.equal(loader.peek()[0], peeked)
    assert (loader.epoch, loader.step, loader.valid) == (0, 0, None)
    assert torch.equal(next(iter(loader))[0], peeked)
    with pytest.raises(OptionError, match="sampler"):
        hr.DataLoader(Squares(3), sampler=[1]).peek()


def test_a_second_iterator_ends_the_first():
    loader = hr.DataLoader(Squares(100), 2, num_workers=2)
    first = iter(loader)
    next(first)
    second = iter(loader)
    next(second)
    with pytest.raises(StaleIteratorError):
        next(first)
    assert len(list(second)) == 49


def test_breaking_out_dropping_and_closing_leave_nothing():
    loader = hr.DataLoader(Squares(1000), 2, num_workers=2)
    for _ in loader:
        break
    for _ in loader:
        loader.close()
        break
    iterator = iter(loader)
    next(iterator)
    del iterator
    gc.collect()
    for _ in hr.DataLoader(Squares(1000), 2, num_workers=2):
        break
    assert len(list(loader)) == 500


def test_an_exception_in_the_consumer_leaves_nothing():
    def consume():
        for _ in hr.DataLoader(Squares(1000), 2, num_workers=2):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        consume()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_iterates_anew():
    loader = hr.DataLoader(Squares(100), 2, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    child = os.fork()
    if child == 0:
        whole = len(list(hr.DataLoader(Squares(10), 2, num_workers=2))) == 5
        os._exit(0 if whole else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(iterator)) == 49


def test_extras_are_appended():
    loader = hr.DataLoader(Squares(5), 2, num_workers=2, extras=("index", "valid"))
    values, _, index, valid = list(loader)[-1]
    assert (values[:, 0].tolist(), index.tolist(), valid.tolist()) == ([4], [4], [True])
    with pytest.raises(OptionError, match="key"):
        list(hr.DataLoader(Squares(5), 2, extras=("key",)))


def test_collate_fn_gets_samples():
    loader = hr.DataLoader(Squares(4), 2, num_workers=2, collate_fn=lambda samples: [name for _, name in samples])
    assert list(loader) == [["name 0", "name 1"], ["name 2", "name 3"]]


def test_explain_is_short_and_states_the_decisions():
    text = hr.DataLoader(Squares(10), 4, shuffle=True, num_workers=2, seed=9).explain()
    assert len(text.splitlines()) <= 15
    for fact in ("10 samples", "seed 9", "2 workers", "3 batches"):
        assert fact in text


def test_a_name_of_extras_stands_for_itself():
    assert next(iter(hr.DataLoader(TensorDataset(torch.arange(4)), 2, extras="index")))[-1].tolist() == [0, 1]


def test_stats_are_read_as_a_table():
    loader = hr.DataLoader(Squares(10), 4, num_workers=2)
    list(loader)
    lines = str(loader.stats()).splitlines()
    assert lines[0].split() == ["stage", "samples", "busy", "waiting", "p50", "p99", "samples/s", "bytes"]
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == ["deliver", "10"] for line in lines)
    ready = loader.stats().queues["ready"]
    assert ready.max <= ready.capacity
    assert f"of {ready.capacity} on average" in str(loader.stats())
    with pytest.raises(OptionError, match="'week'"):
        loader.stats("week")


def test_stats_count_what_was_done():
    loader = hr.DataLoader(Squares(10), 4, num_workers=2)
    list(loader)
    stages = loader.stats().stages
    assert stages["dataset"].items == 10
    assert stages["deliver"].items == 10
    assert stages["run"].busy.num == 3
    list(loader)
    assert loader.stats().stages["deliver"].items == 20
    assert loader.stats("epoch").stages["deliver"].items == 10


def test_valid_marks_padding_of_ranks():
    marks = []
    for rank in range(2):
        loader = hr.DataLoader(Squares(5), 2, num_workers=1, topology=hr.Topology(rank=rank, world_size=2))
        marks += [np.array(loader.valid) for _ in loader]
    assert sum(mark.sum() for mark in marks) == 5
    assert sum(mark.size for mark in marks) == 8


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))])
def test_a_copy_of_a_loader_starts_where_it_stood_and_is_free_of_it(copied):
    loader = hr.DataLoader(Squares(10), 4, shuffle=True, num_workers=1)
    list(loader)
    live = iter(loader)
    next(live)
    other = copied(loader)
    assert other.stats().stages == {}
    epoch = first_column(other)
    assert len(list(live)) == 2, "the iterator of the original goes on"
    assert epoch == first_column(loader), "both went on with the epoch after the one they stood in"


@pytest.mark.parametrize("ids", [["a"], [1.5], [2**70], [None]])
def test_what_is_no_sample_number_is_refused(ids, photographs):
    with pytest.raises(OptionError, match="no sample number"):
        list(hr.DataLoader(ImageFolder(photographs), sampler=ids, num_workers=1))


@pytest.mark.parametrize("batches", [[5], [[0], []]])
def test_what_is_no_batch_is_refused(batches):
    with pytest.raises(OptionError, match="sampler"):
        list(hr.DataLoader(Squares(10), batch_sampler=batches, num_workers=1))


def test_ids_may_be_tensors():
    loader = hr.DataLoader(Squares(10), batch_sampler=[torch.tensor([3, 1]), [torch.tensor(2)]], num_workers=1)
    assert first_column(loader) == [[3, 1], [2]]
