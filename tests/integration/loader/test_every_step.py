"""A run that is cut at any step and resumed on any number of ranks is the uncut run, to the pixel."""

from __future__ import annotations

import functools
import json
import pickle
from itertools import islice

import numpy as np
import pytest
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OrderError
from headrace.loader import composition
from tests.encoded_images import pillow_rgb
from tests.simulated_job import Job, padded

SHARDS = (61, 3, 0, 97, 40, 99)
NUM = sum(SHARDS)
GLOBAL_BATCH = 24
NUM_STEPS = -(-NUM // GLOBAL_BATCH)
RANKS = (1, 2, 3, 4, 8)
CROP = v2.Compose([v2.RandomResizedCrop(16), v2.RandomHorizontalFlip(), v2.ToImage()])


class Cropped:
    """A map-style dataset that crops by `headrace.rng()`."""

    def __init__(self, images):
        self.pictures = [np.asarray(pillow_rgb(image)) for image in images]

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture = self.pictures[index]
        top, left = hr.rng().integers(0, [picture.shape[0] - 16, picture.shape[1] - 16])
        return picture[top : top + 16, left : left + 16].copy(), index % 7


@pytest.fixture(scope="module")
def folders(small_photographs, tmp_path_factory):
    """The photographs as shards of uneven sizes and as a folder tree."""
    root = tmp_path_factory.mktemp("every_step")
    with hr.ShardWriter(root / "shards" / "%02d.tar", counts=SHARDS) as writer:
        for number, image in enumerate(small_photographs):
            writer.write({"__key__": f"{number:04d}", "jpg": image, "cls": number % 7})
            path = root / "tree" / str(number // 100) / f"{number:04d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)
    return root


def shards(folders, _):
    return hr.ShardDataset(folders / "shards", fields=("jpg", "cls"), transform={"jpg": CROP})


KINDS = {
    "shards in windows": (shards, {"shuffle": True, "window_samples": 50, "tail": "pad"}),
    "shards, all mixed": (shards, {"shuffle": "full", "tail": "keep"}),
    "a folder": (lambda folders, _: ImageFolder(folders / "tree", CROP), {"shuffle": True, "tail": "pad"}),
    "any dataset": (lambda _, images: Cropped(images), {"shuffle": True, "tail": None}),
}

CUT = [
    *(("shards in windows", world_size) for world_size in RANKS),
    *(("shards, all mixed", world_size) for world_size in (2, 8)),
    *(("a folder", world_size) for world_size in (1, 3)),
    *(("any dataset", world_size) for world_size in (1, 4)),
]
"""Which runs are cut: those over shards in windows on every number of ranks. All are resumed on all numbers."""


@pytest.fixture(autouse=True)
def machine_read_once(monkeypatch):
    """Thousands of loaders are made: what this machine has is asked for once."""
    monkeypatch.setattr(composition, "read_machine", functools.cache(composition.read_machine))


def rows(batch, loader):
    """Ids, validity and pixels of a batch, row by row."""
    pixels, *_, ids, valid = batch
    assert loader.valid.tolist() == valid.tolist()
    return ids.tolist(), list(zip(valid.tolist(), [row.numpy().tobytes() for row in pixels], strict=True))


def run_cut_everywhere(job, dataset):
    """The batches of each rank, and the state that every rank has before each step."""
    ranks, states = [], []
    for loader in job.loaders(dataset):
        iterator = iter(loader)
        states.append([])
        ranks.append([])
        for _ in range(len(loader)):
            states[-1].append(json.loads(json.dumps(loader.state_dict())))
            ranks[-1].append(rows(next(iterator), loader))
        states[-1].append(json.loads(json.dumps(loader.state_dict())))
    assert all(one == states[0] for one in states)
    return ranks, states[0]


def batches_of(job, steps, tail):
    """What each rank makes of the steps of an unpadded run, padding included: a padded row repeats its pixels."""
    pixels = {one: row[1] for ids, batch in steps for one, row in zip(ids, batch, strict=True)}
    full = padded([(ids, [valid for valid, _ in batch]) for ids, batch in steps], job, tail)
    full = [(ids, [(good, pixels[one]) for one, good in zip(ids, valid, strict=True)]) for ids, valid in full]
    return [[part for step in full for part in job.split(step, rank)] for rank in range(job.world_size)]


@pytest.mark.parametrize(("kind", "world_size"), CUT, ids=str)
def test_cut_before_every_step_and_resumed_on_every_number_of_ranks(kind, world_size, folders, small_photographs):
    make, options = KINDS[kind]
    dataset, tail = make(folders, small_photographs), options["tail"]
    alone = Job(batch_size=GLOBAL_BATCH, options=options | {"tail": "keep", "num_workers": 0})
    loader = alone.loader(dataset)
    whole = [rows(batch, loader) for batch in loader]
    assert sorted(one for ids, _ in whole for one in ids) == list(range(NUM))
    job = Job(world_size=world_size, batch_size=GLOBAL_BATCH // world_size, options=alone.options | {"tail": tail})
    ranks, states = run_cut_everywhere(job, dataset)
    assert ranks == batches_of(job, whole, tail)
    assert len(states) == NUM_STEPS + 1
    for num_after in RANKS:
        after = Job(world_size=num_after, batch_size=GLOBAL_BATCH // num_after, options=job.options)
        expected = batches_of(after, whole, tail)
        for loader, batches in zip(after.loaders(dataset), expected, strict=True):
            for cut, state in enumerate(states):
                loader.load_state_dict(state)
                assert [rows(batch, loader) for batch in loader] == batches[cut:]


def numbers_of(loader, num=None):
    return [index.tolist() for *_, index, _ in islice(loader, num)]


def part_of(job, whole, rank):
    return [ids for step in padded(whole, job, job.options["tail"]) for ids, _ in job.split(step, rank)]


@pytest.mark.parametrize("accumulate", [2, 3])
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_cut_before_every_batch_that_is_accumulated(world_size, accumulate):
    """Between the batches of one step a state fits the same ranks; before a step it fits any."""
    job = Job(world_size=world_size, batch_size=GLOBAL_BATCH // world_size // accumulate, accumulate=accumulate)
    job = job.with_options(shuffle=True, tail="pad", num_workers=0)
    dataset = range(NUM)
    alone = Job(batch_size=GLOBAL_BATCH, options=job.options).loader(dataset)
    whole = [(index.tolist(), valid.tolist()) for *_, index, valid in alone]
    ranks, states = run_cut_everywhere(job, dataset)
    assert len(states) == accumulate * NUM_STEPS + 1
    for rank, loader in enumerate(job.loaders(dataset)):
        assert [ids for ids, _ in ranks[rank]] == part_of(job, whole, rank)
        for cut, state in enumerate(states):
            loader.load_state_dict(state)
            assert (loader.step, loader.steps_left) == (cut, len(states) - 1 - cut)
            assert numbers_of(loader) == part_of(job, whole, rank)[cut:]
    for cut, state in enumerate(states):
        if cut % accumulate == 0:
            alone.load_state_dict(state)
            assert numbers_of(alone) == [ids for ids, _ in whole[cut // accumulate :]]
        else:
            with pytest.raises(OrderError, match=r"batch_size=\d+ in the state, 24 here.*keep batch_size="):
                alone.load_state_dict(state)


def alive(loader, num):
    """The state is taken while batches ahead are being made."""
    iterator = iter(loader)
    seen = numbers_of(iterator, num)
    state = loader.state_dict()
    del iterator
    return seen, state


def broken_off(loader, num):
    """The state is taken after `break`."""
    seen = []
    for *_, index, _ in loader:
        seen.append(index.tolist())
        if len(seen) == num:
            break
    return seen, loader.state_dict()


def fallen(loader, num):
    """The state is taken after the training step has raised."""
    seen = []

    def train():
        for *_, index, _ in loader:
            seen.append(index.tolist())
            if len(seen) == num:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    return seen, loader.state_dict()


def closed(loader, num):
    """The state is taken when the loader is closed."""
    seen = numbers_of(iter(loader), num)
    loader.close()
    return seen, loader.state_dict()


def travelled(loader, num):
    """The state is taken of a copy that has not begun yet."""
    seen = numbers_of(iter(loader), num)
    loader.load_state_dict(loader.state_dict())
    return seen, pickle.loads(pickle.dumps(loader)).state_dict()


@pytest.mark.parametrize("stop", [alive, broken_off, fallen, closed, travelled])
@pytest.mark.parametrize("num_workers", [1, 4])
def test_what_was_made_ahead_is_not_lost(stop, num_workers, folders):
    dataset = shards(folders, None)
    options = {"shuffle": True, "window_samples": 50, "num_workers": num_workers, "prefetch_factor": 6}
    job = Job(batch_size=12, options=options)
    whole = numbers_of(job.loader(dataset))
    for num in (1, 2, 7, 24, 25):
        seen, state = stop(job.loader(dataset), num)
        after = job.with_options(num_workers=0, prefetch_factor=None).loader(dataset)
        after.load_state_dict(json.loads(json.dumps(state)))
        assert seen + numbers_of(after) == whole
