"""Saving and restoring where a loader stands."""

import json
import pickle
from itertools import chain, islice

import pytest
from torch.utils.data import BatchSampler, SequentialSampler

import headrace as hr
from headrace.errors import LoaderClosedError, OptionError, OrderError

NUM = 23


class Numbers:
    """A map-style dataset whose samples are their own numbers."""

    def __init__(self, num=NUM):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return index


def loader_of(num=NUM, *, rank=0, world_size=1, **options):
    options = {"batch_size": 4, "shuffle": True, "num_workers": 2, "seed": 3} | options
    topology = hr.Topology(rank=rank, world_size=world_size)
    return hr.DataLoader(Numbers(num), topology=topology, **options)


def rows(batches):
    return [batch.tolist() for batch in batches]


def flat(batches):
    return list(chain.from_iterable(batches))


def saved(loader):
    """A state as a checkpoint keeps it."""
    return json.loads(json.dumps(loader.state_dict()))


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("cut", range(7))
def test_a_cut_run_goes_on_as_the_uncut_one(cut, num_workers):
    whole = loader_of()
    epochs = [rows(whole) for _ in range(3)]
    first = loader_of(num_workers=num_workers)
    iterator = iter(first)
    before = rows(islice(iterator, cut))
    state = saved(first)
    second = loader_of(num_workers=num_workers)
    second.load_state_dict(state)
    assert (second.epoch, second.step, second.steps_left, len(second)) == (0, cut, 6 - cut, 6)
    assert saved(second) == state, "loading and saving again changes nothing"
    assert before + rows(second) == epochs[0]
    assert [rows(second), rows(second)] == epochs[1:], "later epochs are whole"
    first.close()


def test_the_end_of_an_epoch_counts_once_it_was_signalled():
    loader = loader_of()
    iterator = iter(loader)
    rows(islice(iterator, 6))
    before_the_signal = saved(loader)
    assert next(iterator, None) is None
    after_the_signal = saved(loader)
    for state, epochs in ((before_the_signal, [0, 6, 6]), (after_the_signal, [6, 6, 6])):
        other = loader_of()
        other.load_state_dict(state)
        assert [len(rows(other)) for _ in range(3)] == epochs
    assert (before_the_signal["epoch"], after_the_signal["epoch"]) == (0, 1)


def test_an_epoch_that_is_over_stays_the_present_one_until_the_next_begins():
    loader = loader_of()
    assert (loader.epoch, loader.step, loader.steps_left) == (0, 0, 6)
    rows(loader)
    assert (loader.epoch, loader.step, loader.steps_left) == (0, 6, 0)
    iterator = iter(loader)
    assert (loader.epoch, loader.step, loader.steps_left) == (1, 0, 6)
    next(iterator)
    assert (loader.epoch, loader.step, loader.steps_left) == (1, 1, 5)
    loader.close()


def test_a_position_is_absolute_however_often_it_is_saved_and_loaded():
    state = None
    seen = []
    for _ in range(6):
        loader = loader_of()
        if state is not None:
            loader.load_state_dict(state)
        seen += rows(islice(iter(loader), 1))
        state = saved(loader)
    assert seen == rows(loader_of())
    assert state["samples_delivered"] == NUM


def test_another_number_of_ranks_and_accumulated_batches_goes_on_in_the_same_global_batches():
    whole = rows(loader_of(batch_size=8, tail="pad"))
    ranks = [loader_of(batch_size=4, rank=rank, world_size=2, tail="pad") for rank in range(2)]
    before = [rows(islice(iter(rank), 1)) for rank in ranks]
    assert before[0][0] + before[1][0] == whole[0]
    assert saved(ranks[0]) == saved(ranks[1])
    alone = loader_of(batch_size=2, accumulate=4, tail="pad")
    alone.load_state_dict(saved(ranks[0]))
    assert (alone.step, alone.steps_left, len(alone)) == (4, 8, 12)
    rest = flat(rows(alone))
    assert rest == whole[1] + whole[2]


def test_a_state_between_accumulated_batches_is_for_the_same_ranks_only():
    loader = loader_of(batch_size=2, accumulate=2)
    whole = rows(loader_of(batch_size=2, accumulate=2))
    before = rows(islice(iter(loader), 3))
    same = loader_of(batch_size=2, accumulate=2)
    same.load_state_dict(saved(loader))
    assert before + rows(same) == whole
    with pytest.raises(OrderError, match="batch_size differs"):
        loader_of(batch_size=4).load_state_dict(saved(loader))
    with pytest.raises(OrderError, match="1 of 2 batches delivered"):
        loader.set_batch_size(4)


def test_another_global_batch_is_refused_or_goes_on_exactly_once():
    loader = loader_of()
    before = rows(islice(iter(loader), 2))
    state = saved(loader)
    refusing = loader_of(batch_size=5)
    with pytest.raises(OrderError, match=r"global_batch=4 in the state, 5 here.*on_batch_change='continue'"):
        refusing.load_state_dict(state)
    assert len(rows(refusing)) == 5, "what was refused has changed nothing"
    going_on = loader_of(batch_size=5, on_batch_change="continue")
    going_on.load_state_dict(state)
    assert (going_on.step, going_on.steps_left, len(going_on)) == (2, 3, 5)
    rest = rows(going_on)
    assert [len(batch) for batch in rest] == [5, 5, 5]
    assert flat(before + rest) == flat(rows(loader_of()))
    assert len(rows(going_on)) == 5, "the next epoch is whole"


def test_the_batch_size_changes_under_a_live_iterator():
    loader = loader_of()
    seen = []
    for batch in loader:
        seen.append(batch.tolist())
        if len(seen) == 2:
            loader.set_batch_size(7)
    assert [len(batch) for batch in seen] == [4, 4, 7, 7, 1]
    assert flat(seen) == flat(rows(loader_of()))
    assert loader.batch_size == 7
    assert (len(loader), loader.step, loader.steps_left) == (4, 4, 0)
    assert [len(batch) for batch in rows(loader)] == [7, 7, 7, 2]


def test_a_batch_size_that_is_none_changes_nothing():
    loader = loader_of()
    iterator = iter(loader)
    first = next(iterator).tolist()
    with pytest.raises(OptionError, match="batch_size"):
        loader.set_batch_size(0)
    assert [first, *rows(iterator)] == rows(loader_of())


def test_a_loaded_state_ends_the_live_iterator():
    loader = loader_of()
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(saved(loader))
    with pytest.raises(LoaderClosedError):
        next(iterator)
    assert len(rows(loader)) == 5


def test_set_epoch_after_a_loaded_state_has_the_last_word():
    loader = loader_of()
    next(iter(loader))
    other = loader_of()
    other.load_state_dict(saved(loader))
    other.set_epoch(1)
    assert saved(other)["samples_delivered"] == 0
    assert rows(other) == rows_of_epoch(1)


def test_a_loop_that_announces_every_epoch_goes_on_from_a_loaded_state():
    loader = loader_of()
    before = rows(islice(iter(loader), 2))
    other = loader_of()
    other.load_state_dict(saved(loader))
    seen = []
    for epoch in range(other.epoch, 2):
        other.set_epoch(epoch)
        assert saved(other)["epoch"] == epoch
        seen += rows(other)
    assert before + seen == rows_of_epoch(0) + rows_of_epoch(1)
    other.set_epoch(1)
    assert rows(other) == rows_of_epoch(1), "without a loaded state an epoch is a whole one"


def rows_of_epoch(epoch):
    loader = loader_of()
    loader.set_epoch(epoch)
    return rows(loader)


def test_a_copy_goes_on_where_the_state_is():
    loader = loader_of()
    rows(islice(iter(loader), 3))
    other = loader_of()
    other.load_state_dict(saved(loader))
    copy = pickle.loads(pickle.dumps(other))
    assert rows(copy) == rows(other) == rows_of_epoch(0)[3:]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"num": 24}, "num_samples"),
        ({"seed": 4}, "seed"),
        ({"shuffle": False}, "shuffle"),
        ({"tail": "pad"}, "tail"),
        ({"drop_last": True}, "tail"),
    ],
)
def test_the_state_of_another_run_is_refused_by_the_name_of_what_differs(change, field):
    state = saved(loader_of())
    with pytest.raises(OrderError, match=f"{field} differs"):
        loader_of(**change).load_state_dict(state)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"format": 2}, "newer format"),
        ({"kind": "sampler"}, "kind differs.*sampler= or batch_sampler="),
        ({"epoch": "1"}, "epoch holds what it cannot.*0 to 2"),
        ({"epoch": True}, "epoch holds what it cannot.*0 to 2"),
        ({"surprise": 1}, "unknown"),
    ],
)
def test_a_state_that_is_none_is_refused(damage, message):
    with pytest.raises(OrderError, match=message):
        loader_of().load_state_dict(saved(loader_of()) | damage)


@pytest.mark.parametrize("damage", [{"samples_delivered": NUM + 1}, {"samples_delivered": 2 * NUM}])
def test_a_position_that_no_run_has_is_refused(damage):
    with pytest.raises(OrderError, match="no run stands there"):
        loader_of().load_state_dict(saved(loader_of()) | damage)


def test_a_sampler_goes_on_behind_the_batches_it_gave():
    def sampled():
        sampler = BatchSampler(SequentialSampler(Numbers()), 4, drop_last=False)
        return hr.DataLoader(Numbers(), batch_sampler=sampler, num_workers=2)

    loader = sampled()
    before = rows(islice(iter(loader), 2))
    other = sampled()
    other.load_state_dict(saved(loader))
    assert (other.step, other.steps_left) == (2, 4)
    assert before + rows(other) == rows(sampled())
    with pytest.raises(OrderError, match="kind differs"):
        loader_of().load_state_dict(saved(loader))
    with pytest.raises(OptionError, match="sampler"):
        other.set_batch_size(2)


def test_forever_crosses_epochs_and_is_resumed_in_the_middle_of_one():
    whole = flat(rows_of_epoch(epoch) for epoch in range(3))
    loader = loader_of()
    seen = rows(islice(loader.forever(), 8))
    assert (loader.epoch, loader.step) == (1, 2)
    other = loader_of()
    other.load_state_dict(saved(loader))
    seen += rows(islice(other.forever(), 10))
    assert seen == whole


def test_forever_over_nothing_is_an_error_and_no_endless_loop():
    with pytest.raises(OptionError, match="finds no batch"):
        next(loader_of(0).forever())


def test_a_state_is_small():
    assert len(json.dumps(loader_of(10**9 // 7).state_dict())) < 1024
