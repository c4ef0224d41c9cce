"""Streams with the public protocol of Hugging Face's `datasets.IterableDataset`, and the real one where it is there.

They differ from ours in who does what: `shard(num_shards, index)` belongs to the user, a stream splits itself among
the workers that torch tells of, and it is the dataset, not its iterator, that knows where it stands.
"""

from __future__ import annotations

import copy
import json
import time
from contextlib import closing
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

import headrace as hr
from headrace.errors import OptionError

NUM_SHARDS, IN_A_SHARD = 4, 5
ALL = sorted(10 * shard + row for shard in range(NUM_SHARDS) for row in range(IN_A_SHARD))


class HubStream(IterableDataset):
    """As the documentation of `datasets.IterableDataset` has it: shards, an epoch that shuffles them, a state."""

    def __init__(self, shards):
        self.shards = shards
        self._epoch = torch.tensor(0).share_memory_()
        self.starting_state = None
        self.state = None
        self.num_read = 0

    @property
    def epoch(self):
        return int(self._epoch)

    @property
    def num_shards(self):
        return len(self.shards)

    def set_epoch(self, epoch):
        difference = epoch - self._epoch
        time.sleep(0.05)  # several workers are here at a time, and must not add to the same number
        self._epoch += difference

    def shard(self, num_shards, index, contiguous=True):
        if not contiguous:
            return HubStream(self.shards[index::num_shards])
        return HubStream(np.array_split(self.shards, num_shards)[index].tolist())

    def state_dict(self):
        return copy.deepcopy(self.state)

    def load_state_dict(self, state_dict):
        self.starting_state = state_dict

    def __iter__(self):
        shards = np.random.default_rng(self.epoch).permutation(self.shards).tolist()
        worker = get_worker_info()
        if worker is not None:
            shards = shards[worker.id :: worker.num_workers]
        self.state = {"examples_iterable": {"shard_idx": 0, "shard_example_idx": 0}, "epoch": self.epoch}
        if self.starting_state is not None and self.starting_state["epoch"] == self.epoch:
            self.state = copy.deepcopy(self.starting_state)
        place = self.state["examples_iterable"]
        while place["shard_idx"] < len(shards):
            while place["shard_example_idx"] < IN_A_SHARD:
                place["shard_example_idx"] += 1
                self.num_read += 1
                yield {"id": 10 * shards[place["shard_idx"]] + place["shard_example_idx"] - 1}
            place["shard_idx"], place["shard_example_idx"] = place["shard_idx"] + 1, 0


SETTINGS = {
    "automatic": {},
    "caller": {"num_workers": 0},
    "thread": {"num_workers": 2, "engine": "threads"},
    "processes": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "more-workers-than-shards": {"num_workers": NUM_SHARDS + 1},
}


def stream():
    return HubStream(list(range(NUM_SHARDS)))


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


def flat(batches):
    return [number for batch in batches for number in batch]


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_sample_comes_once_an_epoch_and_each_epoch_has_another_order(setting):
    with closing(hr.DataLoader(stream(), 3, **SETTINGS[setting])) as loader:
        epochs = [flat(ids(loader)) for _ in range(3)]
    assert all(sorted(one) == ALL for one in epochs)
    assert len({tuple(one) for one in epochs}) == 3, "set_epoch was not called"


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_state_goes_on_exactly_and_the_epoch_after_it_is_whole(setting):
    num_delivered = 4
    with closing(hr.DataLoader(stream(), 3, **SETTINGS[setting])) as loader:
        expected = [ids(loader) for _ in range(3)]
    with closing(hr.DataLoader(stream(), 3, **SETTINGS[setting])) as loader:
        assert ids(loader) == expected[0]
        assert ids(islice(loader, num_delivered)) == expected[1][:num_delivered]
        state = json.loads(json.dumps(loader.state_dict()))
    with closing(hr.DataLoader(stream(), 3, **SETTINGS[setting])) as loader:
        loader.load_state_dict(state)
        assert ids(loader) == expected[1][num_delivered:]
        assert ids(loader) == expected[2]


def test_a_state_is_loaded_rather_than_read_up_to():
    loader = hr.DataLoader(stream(), 3, num_workers=0)
    next(iter(loader))
    dataset = stream()
    resumed = hr.DataLoader(dataset, 3, num_workers=0)
    resumed.load_state_dict(loader.state_dict())
    assert len(list(resumed)) == 6
    assert dataset.num_read == len(ALL) - 3


def test_workers_get_what_those_of_torch_get():
    theirs = torch.utils.data.DataLoader(stream(), 3, num_workers=2)
    with closing(hr.DataLoader(stream(), 3, num_workers=2)) as ours:
        assert ids(ours) == ids(theirs)


def test_parts_that_the_user_has_made_are_read_as_they_are():
    parts = []
    for rank in range(2):
        topology = hr.Topology(rank=rank, world_size=2)
        part = stream().shard(num_shards=2, index=rank)
        with closing(hr.DataLoader(part, 5, num_workers=0, topology=topology)) as loader:
            parts += flat(ids(loader))
    assert sorted(parts) == ALL


def test_why_nothing_is_split_is_told_and_a_look_is_refused_as_for_any_stream():
    loader = hr.DataLoader(stream(), 3)
    assert "several would each give all samples" in " ".join(loader.explain().split())
    with pytest.raises(OptionError, match="would move"):
        loader.peek()


@pytest.mark.parametrize("setting", ["automatic", "caller", "processes"])
def test_the_real_one(setting):
    datasets = pytest.importorskip("datasets")

    def real():
        rows = datasets.Dataset.from_dict({"id": ALL}).to_iterable_dataset(num_shards=NUM_SHARDS)
        return rows.shuffle(seed=1, buffer_size=1)

    with closing(hr.DataLoader(real(), 3, **SETTINGS[setting])) as loader:
        expected = [ids(loader) for _ in range(2)]
    assert all(sorted(flat(one)) == ALL for one in expected)
    with closing(hr.DataLoader(real(), 3, **SETTINGS[setting])) as loader:
        assert ids(islice(loader, 2)) == expected[0][:2]
        state = json.loads(json.dumps(loader.state_dict()))
    with closing(hr.DataLoader(real(), 3, **SETTINGS[setting])) as loader:
        loader.load_state_dict(state)
        assert ids(loader) == expected[0][2:]
