"""Calls at odd moments: in the loop, after its end, on copies, between accumulated batches."""

from __future__ import annotations

import json
import pickle
from itertools import chain, islice

import pytest

import headrace as hr
from headrace.errors import HeadraceError, LoaderClosedError, OptionError
from tests.tars import tar_of

NUM = 21


def write_shards(folder, counts=(5, 7, 9), names=("000", "001", "002", "003")):
    folder.mkdir(parents=True)
    first = 0
    for name, count in zip(names, counts, strict=False):
        members = ((f"{number:05d}.txt", str(number).encode()) for number in range(first, first + count))
        (folder / f"{name}.tar").write_bytes(tar_of(members))
        first += count
    return folder


class Squares:
    def __init__(self, num=NUM):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return index * index


def loader_of(dataset=None, batch_size=4, **options):
    options = {"shuffle": True, "num_workers": 0, "extras": "index"} | options
    return hr.DataLoader(range(NUM) if dataset is None else dataset, batch_size, **options)


def rows(batches):
    return [index.tolist() for *_, index in batches]


def flat(batches):
    return list(chain.from_iterable(batches))


def state_after(loader, num):
    """What a checkpoint keeps after so many batches."""
    iterator = iter(loader)
    list(islice(iterator, num))
    state = json.loads(json.dumps(loader.state_dict()))
    loader.close()
    return state


STATE = state_after(loader_of(), 2)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_state_loaded_in_the_loop_ends_the_loop(num_workers):
    loader = loader_of(num_workers=num_workers)
    seen = []

    def train():
        for *_, index in loader:
            seen.append(index.tolist())
            if len(seen) == 3:
                loader.load_state_dict(STATE)

    with pytest.raises(LoaderClosedError):
        train()
    assert seen[:2] + rows(loader) == rows(loader_of())


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_iterator_that_is_over_says_nothing_about_the_next_one(num_workers):
    loader = loader_of(num_workers=num_workers)
    first = iter(loader)
    list(first)
    second = iter(loader)
    next(second)
    assert next(first, None) is None
    assert (loader.epoch, loader.step) == (1, 1)
    state = loader.state_dict()
    assert (state["epoch"], state["samples_delivered"]) == (1, 4)
    assert len(list(second)) == 5
    assert iter(loader) is not None
    assert loader.epoch == 2
    loader.close()


def test_loaders_of_one_dataset_do_not_disturb_each_other(tmp_path):
    dataset = hr.ShardDataset(write_shards(tmp_path / "shards"), fields=("txt",))
    expected = rows(loader_of(dataset))
    first, second = loader_of(dataset, num_workers=2), loader_of(dataset, num_workers=1)
    one, two = iter(first), iter(second)
    seen = rows(islice(one, 3))
    assert rows(islice(two, 1)) == expected[:1]
    second.load_state_dict(first.state_dict())
    two = iter(second)
    seen += rows(islice(one, 1))
    assert rows(islice(two, 2)) == expected[3:5]
    first.close()
    assert rows(two) == expected[5:]
    first.load_state_dict(first.state_dict())
    assert seen + rows(first) == expected


def test_a_copy_of_a_loaded_loader_may_be_told_its_epoch():
    loader = loader_of()
    loader.load_state_dict(STATE)
    copies = [pickle.loads(pickle.dumps(loader)) for _ in range(3)]
    copies[1].set_epoch(0)
    copies[2].set_epoch(1)
    whole = rows(loader_of())
    assert rows(copies[0]) == rows(copies[1]) == whole[2:]
    assert len(rows(copies[2])) == 6
    assert copies[2].epoch == 1


def test_a_copy_of_a_copy_is_where_the_first_was():
    loader = loader_of()
    loader.load_state_dict(STATE)
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(loader))))
    assert (copy.epoch, copy.step) == (0, 2)
    assert copy.state_dict() == STATE
    assert rows(copy) == rows(loader_of())[2:]


def before_the_first(loader):
    loader.set_batch_size(7)
    return rows(loader)


def after_loading(loader):
    state = state_after(loader, 2)
    loader.load_state_dict(state)
    loader.set_batch_size(7)
    return rows(loader_of())[:2] + rows(loader)


def in_the_middle(loader):
    seen = []
    for *_, index in loader:
        seen.append(index.tolist())
        if len(seen) == 2:
            loader.set_batch_size(7)
    return seen


def back_and_forth(loader):
    seen = []
    for *_, index in loader:
        seen.append(index.tolist())
        loader.set_batch_size(1 + len(seen) % 3)
        assert len(loader) == loader.step + loader.steps_left
    return seen


def at_the_last(loader):
    iterator = iter(loader)
    seen = rows(islice(iterator, 6))
    loader.set_batch_size(7)
    assert loader.steps_left == 0
    return seen + rows(iterator)


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("when", [before_the_first, after_loading, in_the_middle, back_and_forth, at_the_last])
def test_the_batch_size_may_change_at_any_moment(when, num_workers):
    loader = loader_of(num_workers=num_workers)
    assert flat(when(loader)) == flat(rows(loader_of()))
    assert (loader.step, loader.steps_left) == (len(loader), 0)
    again = loader_of(batch_size=loader.batch_size)
    again.set_epoch(1)
    assert rows(loader) == rows(again), "the next epoch is whole, in the new size"


def test_accumulated_batches_of_a_new_size_are_saved_where_they_stand():
    """Between two accumulated batches, in an epoch whose first part had another size."""
    loader = loader_of(range(40), 2, accumulate=2)
    iterator = iter(loader)
    seen = rows(islice(iterator, 6))
    loader.set_batch_size(5)
    seen += rows(islice(iterator, 1))
    state = json.loads(json.dumps(loader.state_dict()))
    assert (state["samples_delivered"], state["rank_batches"]) == (12, 1)
    after = loader_of(range(40), 5, accumulate=2)
    after.load_state_dict(state)
    assert after.steps_left == loader.steps_left == 5
    assert seen + rows(after) == seen + rows(iterator)
    assert sorted(flat(seen) + flat(rows_again(state))) == list(range(40))


def rows_again(state):
    loader = loader_of(range(40), 5, accumulate=2)
    loader.load_state_dict(state)
    return rows(loader)


def test_a_batch_size_that_does_not_fit_is_refused_and_changes_nothing():
    loader = loader_of(shuffle="window", canonical_nodes=4)
    iterator = iter(loader)
    first = rows(islice(iterator, 1))
    for size in (6, 0, -1, 2.0, True, None, "4"):
        with pytest.raises(HeadraceError):
            loader.set_batch_size(size)
    assert first + rows(iterator) == rows(loader_of(shuffle="window", canonical_nodes=4))


def test_forever_follows_set_epoch_and_set_batch_size():
    loader = loader_of()
    seen = []
    for number, (*_, index) in enumerate(loader.forever()):
        seen.append((loader.epoch, len(index)))
        assert len(loader) == loader.step + loader.steps_left
        if number == 2:
            loader.set_epoch(9)
        if number == 7:
            loader.set_batch_size(10)
        if loader.epoch == 10 and loader.steps_left == 0:
            break
    epochs = [epoch for epoch, _ in seen]
    assert list(dict.fromkeys(epochs)) == [0, 9, 10]
    assert [size for epoch, size in seen if epoch == 9] == [4, 4, 10, 3]
    assert [size for epoch, size in seen if epoch == 10] == [10, 10, 1]


def test_a_sampler_may_give_more_or_less_than_it_says():
    class Sampler:
        def __len__(self):
            return 3

        def __iter__(self):
            return iter([[0], [1], [2], [3], [4]])

    loader = hr.DataLoader(range(9), batch_sampler=Sampler(), num_workers=0)
    told = [(len(loader), loader.step, loader.steps_left) for _ in loader]
    assert told == [(3, 1, 2), (3, 2, 1), (3, 3, 0), (3, 3, 0), (3, 3, 0)]
    loader.load_state_dict(loader.state_dict() | {"batches_delivered": 4})
    assert [batch.tolist() for batch in loader] == [[4]]
    loader.load_state_dict(loader.state_dict() | {"batches_delivered": 10**15})
    assert (loader.step, loader.steps_left) == (3, 0)
    assert list(loader) == []


@pytest.mark.parametrize("epoch", [10**30, 2**64, -1, 1.0, float("nan")])
def test_epochs_that_none_can_be_are_refused(epoch):
    loader = loader_of()
    with pytest.raises(OptionError, match="from 0 to 2"):
        loader.set_epoch(epoch)
    assert loader.epoch == 0


def test_the_largest_epoch_is_one():
    loader = loader_of()
    loader.set_epoch(2**64 - 1)
    other = loader_of()
    state = json.loads(json.dumps(loader.state_dict()))
    other.load_state_dict(state)
    assert rows(loader) == rows(other)
    assert state["epoch"] == 2**64 - 1


def test_what_was_delivered_in_small_batches_is_not_delivered_again_where_large_ones_drop():
    state = state_after(loader_of(batch_size=3, tail="drop"), 7)
    assert state["samples_delivered"] == NUM
    for size in (8, 1):
        loader = loader_of(batch_size=size, tail="drop", on_batch_change="continue")
        loader.load_state_dict(state)
        assert (loader.step, loader.steps_left) == (len(loader), 0)
        state = loader.state_dict()
    assert list(loader) == []


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_run_that_a_sample_has_ended_goes_on_with_that_batch(num_workers):
    class Mended(Squares):
        is_mended = False

        def __getitem__(self, index):
            if index == 13 and not Mended.is_mended:
                raise RuntimeError("the disk is full of holes")
            return index

    loader = loader_of(Mended(), num_workers=num_workers)
    seen = []
    with pytest.raises(RuntimeError, match="holes"):
        seen.extend(index.tolist() for *_, index in loader)
    Mended.is_mended = True
    loader.load_state_dict(loader.state_dict())
    assert 13 in flat(rows(islice(iter(loader), 1)))
    loader.load_state_dict(loader.state_dict())
    assert len(flat(rows(loader))) == NUM - 4 * (len(seen) + 1)
