"""`persistent_workers=True`: the next epoch begins while the last batches of the one before are delivered."""

from __future__ import annotations

import json
import threading
from itertools import islice

import pytest

import headrace as hr
from headrace.errors import LoaderClosedError
from tests.tars import tar_of

NUM = 23


class Counted:
    """Tells which samples were made."""

    def __init__(self, fail_in_call=None):
        self.calls = []
        self.fail_in_call = fail_in_call
        self.made = threading.Semaphore(0)

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        self.calls.append(index)
        self.made.release()
        if len(self.calls) == self.fail_in_call:
            raise ValueError("this one is broken")
        return index


def loader_of(dataset=None, **options):
    options = {"shuffle": True, "num_workers": 2, "engine": "threads", "persistent_workers": True} | options
    return hr.DataLoader(range(NUM) if dataset is None else dataset, 4, extras="index", **options)


def rows(batches):
    return [index.tolist() for *_, index in batches]


def write_shards(folder):
    members = ((f"{number:05d}.txt", str(number).encode()) for number in range(NUM))
    (folder / "000.tar").write_bytes(tar_of(members))
    return hr.ShardDataset(folder, fields=("txt",))


@pytest.mark.parametrize("engine", ["threads", "processes"])
@pytest.mark.parametrize("kind", ["rows", "shards"])
def test_every_epoch_is_what_it_is_without(kind, engine, tmp_path):
    dataset = write_shards(tmp_path) if kind == "shards" else None
    plain, persistent = (loader_of(dataset, engine=engine, persistent_workers=on) for on in (False, True))
    for _ in range(4):
        assert rows(persistent) == rows(plain)
    for loader in (plain, persistent):
        loader.set_epoch(2)
    assert rows(persistent) == rows(plain)
    for loader in (plain, persistent):
        list(islice(loader, 2))
    assert rows(persistent) == rows(plain)
    persistent.close()
    plain.close()


def test_the_next_epoch_is_made_before_anybody_asks_for_it():
    dataset = Counted()
    loader = loader_of(dataset)
    list(loader)
    for _ in range(NUM + 4):
        assert dataset.made.acquire(timeout=20)
    following = loader_of()
    following.set_epoch(1)
    expected = rows(following)
    following.close()
    assert rows(loader) == expected
    loader.close()


def test_a_sampler_of_the_caller_is_not_asked_before_its_time():
    class Sampler:
        num_asked = 0

        def __len__(self):
            return NUM

        def __iter__(self):
            self.num_asked += 1
            return iter(range(NUM))

    sampler = Sampler()
    loader = loader_of(shuffle=None, sampler=sampler)
    list(loader)
    assert sampler.num_asked == 1
    assert rows(loader)[0] == [0, 1, 2, 3]
    assert sampler.num_asked == 2


def test_states_tell_of_what_was_delivered_only():
    whole = rows(islice(loader_of(persistent_workers=False).forever(), 12))
    for num in (5, 6, 7):
        loader = loader_of()
        assert rows(islice(loader.forever(), num)) == whole[:num]
        state = json.loads(json.dumps(loader.state_dict()))
        loader.close()
        resumed = loader_of()
        resumed.load_state_dict(state)
        assert rows(islice(resumed.forever(), 12 - num)) == whole[num:]
        resumed.close()


def test_a_fault_in_the_next_epoch_is_raised_in_it():
    loader = loader_of(Counted(fail_in_call=NUM + 1), engine="threads", num_workers=1)
    assert len(list(loader)) == 6
    with pytest.raises(ValueError, match="this one is broken"):
        list(loader)
    loader.close()


def test_a_second_iterator_ends_the_first_at_its_last_batch_too():
    loader = loader_of()
    first = iter(loader)
    list(islice(first, 6))
    second = iter(loader)
    with pytest.raises(LoaderClosedError):
        next(first)
    plain = loader_of(persistent_workers=False)
    plain.set_epoch(1)
    assert rows(second) == rows(plain)
    loader.close()


def test_another_batch_size_between_two_epochs():
    loader, plain = loader_of(), loader_of(persistent_workers=False)
    for one in (loader, plain):
        list(one)
        one.set_batch_size(5)
    assert rows(loader) == rows(plain)
    assert rows(loader) == rows(plain)
    loader.close()


@pytest.mark.parametrize("engine", ["threads", "processes"])
@pytest.mark.parametrize("how", ["close", "drop"])
def test_a_loader_between_two_epochs_leaves_nothing_behind(how, engine):
    """The fixtures of this suite look for threads, processes, memory and files."""
    loader = loader_of(engine=engine)
    list(loader)
    if how == "close":
        loader.close()
    del loader


def test_one_epoch_after_another_without_end_begins_early_too():
    dataset = Counted()
    loader = loader_of(dataset, persistent_workers=False)
    batches = loader.forever()
    list(islice(batches, 6))
    for _ in range(NUM + 4):
        assert dataset.made.acquire(timeout=20)
    del batches
    loader.close()


def test_explain_says_that_batches_are_kept_between_epochs():
    assert "between epochs too" in loader_of().explain()
    assert "between epochs too" not in loader_of(persistent_workers=False).explain()
