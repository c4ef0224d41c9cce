"""States of other datasets and orders, and states that are damaged: refused by name, with what would be accepted."""

from __future__ import annotations

import json
import shutil
from itertools import chain, islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch.utils.data import ConcatDataset, Subset, random_split
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OrderError
from tests.tars import tar_of

NUM = 21
NAN = float("nan")


def write_shards(folder, counts=(5, 7, 9), names=("000", "001", "002", "003")):
    folder.mkdir(parents=True)
    first = 0
    for name, count in zip(names, counts, strict=False):
        members = ((f"{number:05d}.txt", str(number).encode()) for number in range(first, first + count))
        (folder / f"{name}.tar").write_bytes(tar_of(members))
        first += count
    return folder


def sharded(folder, **options):
    return loader_of(hr.ShardDataset(folder, fields=("txt",)), **options)


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


def refusal(loader, state):
    """The text of the error; what is refused changes nothing."""
    before = (loader.epoch, loader.step, loader.steps_left, loader.state_dict())
    with pytest.raises(OrderError) as caught:
        loader.load_state_dict(state)
    assert (loader.epoch, loader.step, loader.steps_left, loader.state_dict()) == before
    text = str(caught.value)
    assert len(text) < 700
    assert caught.value.accepted or "newer" in text
    return text


# --- other datasets and orders ----------------------------------------------------------------------------------------


def test_shards_that_are_others_are_refused(tmp_path):
    first = write_shards(tmp_path / "first")
    state = state_after(sharded(first), 2)
    grown = refusal(sharded(write_shards(tmp_path / "grown", (5, 7, 9, 1))), state)
    assert "num_samples=21 in the state, 22 here; accepted: num_samples=22" in grown
    split = refusal(sharded(write_shards(tmp_path / "split", (5, 7, 8, 1))), state)
    assert "num_shards=3 in the state, 4 here" in split
    renamed = refusal(sharded(write_shards(tmp_path / "renamed", names="xyz")), state)
    assert f"fingerprint={state['fingerprint']!r} in the state" in renamed
    swapped = [first / f"{name}.tar" for name in ("001", "000", "002")]
    assert "its shards in the same order" in refusal(sharded(swapped), state)


def test_shards_that_were_moved_are_the_same(tmp_path):
    first = write_shards(tmp_path / "first")
    state = state_after(sharded(first), 2)
    moved = sharded(shutil.move(first, tmp_path / "moved"))
    moved.load_state_dict(state)
    assert moved.step == 2


def write_images(folder, names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(path)
    return loader_of(ImageFolder(folder, v2.ToImage()), 2)


def test_folders_that_are_others_are_refused(tmp_path):
    names = ["a/1.jpg", "a/2.jpg", "b/3.jpg", "b/4.jpg"]
    state = state_after(write_images(tmp_path / "first", names), 1)
    write_images(tmp_path / "again", names).load_state_dict(state)
    more = refusal(write_images(tmp_path / "more", [*names, "b/5.jpg"]), state)
    assert "num_samples=4 in the state, 5 here" in more
    for other in (["a/1.jpg", "b/2.jpg", "b/3.jpg", "b/4.jpg"], ["a/1.jpg", "a/2.jpg", "b/3.jpg", "b/44.jpg"]):
        assert "fingerprint differs" in refusal(write_images(tmp_path / other[1] / other[3], other), state)
    relabelled = ImageFolder(tmp_path / "first", v2.ToImage())
    relabelled.samples[0] = (relabelled.samples[0][0], 1)
    assert "fingerprint differs" in refusal(loader_of(relabelled, 2), state)


class Squares:
    def __init__(self, num=NUM):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return index * index


def test_selections_of_a_dataset_are_told_apart():
    first, second, same = (
        random_split(Squares(30), [NUM, 9], generator=torch.Generator().manual_seed(seed))[0] for seed in (1, 2, 1)
    )
    state = state_after(loader_of(first), 2)
    loader_of(same).load_state_dict(state)
    for other in (second, Squares(), Subset(Squares(40), first.indices), Subset(range(30), first.indices)):
        assert "fingerprint differs" in refusal(loader_of(other), state)
    named = Subset(dict.fromkeys("abc", 1), ["a", "b", "c"])
    state = state_after(loader_of(named, 1), 1)
    loader_of(named, 1).load_state_dict(state)


def test_joined_datasets_are_told_apart():
    state = state_after(loader_of(ConcatDataset([Squares(20), Squares(1)])), 2)
    loader_of(ConcatDataset([Squares(20), Squares(1)])).load_state_dict(state)
    for other in (ConcatDataset([Squares(1), Squares(20)]), ConcatDataset([Squares(20), [7]]), Squares()):
        assert "fingerprint differs" in refusal(loader_of(other), state)


@pytest.mark.parametrize(
    ("saved", "present", "texts"),
    [
        ({}, {"shuffle": False}, ["shuffle='full' in the state, 'none' here", "shuffle='full'"]),
        ({"shuffle": False}, {}, ["shuffle='none' in the state, 'full' here", "with shuffle=False"]),
        ({}, {"shuffle": "window"}, ["shuffle='full' in the state, 'window' here"]),
        ({"seed": 3}, {"seed": 2**64 - 1}, ["seed=3 in the state, 18446744073709551615 here", "with seed=3"]),
        ({"tail": "pad"}, {"drop_last": True}, ["tail='pad' in the state, 'drop' here", "with tail='pad'"]),
        ({"shuffle": "window", "window_samples": 3}, {"shuffle": "window"}, ["window_samples=3 in the state, 21 here"]),
        (
            {"shuffle": "window", "canonical_nodes": 2},
            {"shuffle": "window", "canonical_nodes": 4},
            ["canonical_nodes=2 in the state, 4 here"],
        ),
        ({"accumulate": 2}, {}, ["global_batch=8 in the state, 4 here", "on_batch_change='continue'"]),
    ],
)
def test_other_orders_are_refused_with_both_values_and_the_remedy(saved, present, texts):
    text = refusal(loader_of(**present), state_after(loader_of(**saved), 2))
    for one in texts:
        assert one in text


def test_canonical_nodes_that_the_new_batch_does_not_hold_are_refused():
    state = state_after(loader_of(shuffle="window", canonical_nodes=2), 2)
    text = refusal(loader_of(batch_size=5, shuffle="window", on_batch_change="continue"), state)
    assert "canonical_nodes=2 in the state, a global batch of 5 here" in text
    going_on = loader_of(batch_size=6, shuffle="window", on_batch_change="continue")
    going_on.load_state_dict(state)
    assert len(flat(rows(going_on))) == NUM - 8


# --- damaged states ---------------------------------------------------------------------------------------------------

STATE = state_after(loader_of(), 2)

DAMAGE = {
    "epoch": [-1, 1.0, NAN, None, [1], True, "0", 10**30, 2**64, 10**5000],
    "seed": [2**64, -5, 0.0],
    "samples_delivered": [10**30, NUM + 1, 0.5, [[[]]]],
    "rank_batches": [1, 10**20, -1],
    "global_batch": [0, 10**30, 7],
    "batch_size": [0, 3, 8],
    "world_size": [0, 10**9, None],
    "canonical_nodes": [0, 2, 10**30],
    "tail": [3, [], "KEEP"],
    "shuffle": [None, {}, "x" * 10**6],
    "fingerprint": [5, "", "x" * 10**6, None],
    "sources": [[1], [[[]]], {}, "abc", [NAN]],
    "num_samples": [NUM + 1, -1],
    "num_shards": [4, "1"],
    "format": [0, "1", 1.0, True, None, 2, 10**40],
    "kind": [None, [], "sampler", "\x1b[31m"],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_fields_are_refused_by_name(name):
    loader = loader_of()
    for value in DAMAGE[name]:
        text = refusal(loader, STATE | {name: value})
        assert name in text or "sources" in text
        assert "\x1b" not in text
    assert flat(rows(loader)) == flat(rows(loader_of()))


@pytest.mark.parametrize("name", STATE)
def test_missing_fields_are_refused_by_name(name):
    text = refusal(loader_of(), {field: value for field, value in STATE.items() if field != name})
    assert name in text


@pytest.mark.parametrize(
    "state", [None, 5, "x", [], [STATE], {}, {1: 2}, {"loader": STATE}, json.dumps(STATE), STATE | {3: 4}]
)
def test_what_is_no_state_is_refused(state):
    assert "not the state of a loader" in refusal(loader_of(), state)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_lists_beyond_measure_are_refused():
    assert "sources" in refusal(loader_of(), STATE | {"sources": nested(100_000)})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(change=st.dictionaries(st.sampled_from(sorted(STATE)) | st.text(max_size=3), JSON, max_size=3))
def test_any_json_is_refused_or_means_a_place(change):
    loader = loader_of()
    try:
        loader.load_state_dict(STATE | change)
    except OrderError:
        return
    assert len(loader) == loader.step + loader.steps_left
    num = loader.steps_left
    assert len(list(loader)) == num


@given(delivered=st.integers(0, 30), rank_batches=st.integers(0, 5), tail=st.sampled_from([None, "drop", "pad"]))
def test_any_position_is_refused_or_has_its_rest(delivered, rank_batches, tail):
    loader = loader_of(batch_size=2, accumulate=4, tail=tail)
    state = loader.state_dict() | {"samples_delivered": delivered, "rank_batches": rank_batches}
    try:
        loader.load_state_dict(state)
    except OrderError:
        return
    assert loader.steps_left >= 0
    assert len(loader) == loader.step + loader.steps_left
    assert loader.state_dict()["samples_delivered"] in {delivered, NUM if loader.steps_left == 0 else delivered}
    num = loader.steps_left
    assert len(list(loader)) == num
