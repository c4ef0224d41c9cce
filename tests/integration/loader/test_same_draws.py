"""Random numbers belong to samples: the same ones whoever makes them, wherever, before or after a restart."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import RandomSampler
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr

SIZE = 24
GLOBAL_BATCH = 12
NUM = 60


def noise(image):
    """A transform of a user that draws from the sample's numbers, more than once."""
    level = hr.rng().integers(0, 30)
    return image.point(lambda value: value + level + int(hr.rng().random() * 20))


TRANSFORMS = {
    "v2": v2.Compose([v2.RandomResizedCrop(SIZE), v2.RandomHorizontalFlip(), v2.ToImage()]),
    "v1": v1.Compose([v1.RandomCrop(SIZE), v1.RandomHorizontalFlip(), v1.ToTensor()]),
    "own function": v2.Compose([v2.RandomResizedCrop(SIZE), v2.Lambda(noise), v2.RandomHorizontalFlip(), v2.ToImage()]),
}


class Drawn:
    """A map-style dataset of random numbers: those of its samples."""

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        return torch.from_numpy(hr.rng().random(3)), index


class Wrapped(Drawn):
    """A dataset of a user around ours: two looks at one sample."""

    def __init__(self, inner):
        self.inner = inner

    def __getitem__(self, index):
        return torch.stack([self.inner[index][0], self.inner[index][0]]), index


@pytest.fixture(scope="module")
def folders(small_photographs, tmp_path_factory):
    """60 photographs as a folder tree and as shards of uneven sizes."""
    root = tmp_path_factory.mktemp("draws")
    with hr.ShardWriter(root / "shards" / "%02d.tar", counts=[7, 0, 30, 23]) as writer:
        for number, image in enumerate(small_photographs[:NUM]):
            writer.write({"__key__": f"{number:03d}", "jpg": image, "cls": number})
            path = root / "tree" / str(number // 20) / f"{number:03d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)
    return root


def shards_of(folders, transform):
    return hr.ShardDataset(folders / "shards", fields=("jpg", "cls"), transform={"jpg": transform})


MAKERS = {
    "folder": lambda folders, transform: ImageFolder(folders / "tree", transform),
    "shards": shards_of,
    "wrapped shards": lambda folders, transform: Wrapped(shards_of(folders, transform)),
    "any dataset": lambda *_: Drawn(),
}

CASES = [(kind, name) for kind in MAKERS for name in TRANSFORMS if kind != "any dataset" or name == "v2"]


@pytest.fixture(params=CASES, ids=" of ".join)
def make_dataset(request, folders):
    kind, name = request.param
    return lambda: MAKERS[kind](folders, TRANSFORMS[name])


def drawn(batches):
    """What was made of each sample, by its id."""
    return {int(one): row.numpy().tobytes() for rows, *_, ids in batches for row, one in zip(rows, ids, strict=True)}


def loader_of(dataset, rank=0, world_size=1, **options):
    topology = hr.Topology(rank=rank, world_size=world_size)
    options = {"shuffle": True, "seed": 5, "num_workers": 0, "extras": "index"} | options
    return hr.DataLoader(dataset, GLOBAL_BATCH // world_size, topology=topology, **options)


def test_the_same_whoever_makes_them(make_dataset):
    dataset = make_dataset()
    first = drawn(loader_of(dataset))
    assert len(first) == NUM
    assert len(set(first.values())) == NUM
    for options in ({"num_workers": 1}, {"num_workers": 3, "prefetch_factor": 7}, {"fuse": False, "num_workers": 2}):
        assert drawn(loader_of(dataset, **options)) == first, options
    for world_size in (2, 3):
        ranks = [drawn(loader_of(dataset, rank, world_size, num_workers=rank)) for rank in range(world_size)]
        assert {one: row for rank in ranks for one, row in rank.items()} == first
    assert drawn(loader_of(dataset, shuffle=False)) == first, "nor does the order matter"


def test_the_same_after_a_restart(make_dataset):
    dataset = make_dataset()
    whole = loader_of(dataset)
    epochs = [drawn(whole) for _ in range(2)]
    assert all(epochs[0][one] != epochs[1][one] for one in range(NUM)), "every epoch draws anew"
    run = loader_of(dataset, num_workers=2)
    seen = drawn(islice(iter(run), 2))
    after = [loader_of(dataset, rank, 2) for rank in range(2)]
    for loader in after:
        loader.load_state_dict(run.state_dict())
    run.close()
    for loader in after:
        seen |= drawn(loader)
    assert seen == epochs[0]
    assert {one: row for loader in after for one, row in drawn(loader).items()} == epochs[1]


@pytest.mark.parametrize(("kind", "name"), [("wrapped shards", "own function"), ("any dataset", "v2")], ids=str)
def test_the_same_in_processes_before_and_after_a_restart(kind, name, folders):
    dataset = MAKERS[kind](folders, TRANSFORMS[name])
    first = drawn(loader_of(dataset))
    before = generators()
    run = loader_of(dataset, engine="processes", num_workers=2)
    iterator = iter(run)
    seen = drawn(islice(iterator, 2))
    after = loader_of(dataset, engine="threads", num_workers=2)
    after.load_state_dict(run.state_dict())
    assert seen | drawn(iterator) == first
    assert seen | drawn(after) == first
    assert generators() == before
    run.close()


def test_two_looks_at_one_sample_differ(folders):
    for views, *_ in loader_of(Wrapped(shards_of(folders, TRANSFORMS["v2"]))):
        assert all(not torch.equal(first, second) for first, second in views)


def test_a_batch_made_in_one_call_has_the_numbers_of_its_first_sample():
    class Batched(Drawn):
        def __getitems__(self, ids):
            return [(torch.from_numpy(hr.rng().random(3)), one) for one in ids]

    first = drawn(loader_of(Batched()))
    assert len(set(first.values())) == NUM
    assert drawn(loader_of(Batched(), num_workers=3)) == first
    alone = drawn(loader_of(Drawn()))
    same = [one for one in first if first[one] == alone[one]]
    assert same == [int(ids[0]) for *_, ids in loader_of(Batched())]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_id_that_a_sampler_gives_twice_is_drawn_twice(make_dataset, num_workers):
    dataset = make_dataset()
    ids = [3, 3, 9, 3, 9, 0, 3]

    def rows(**options):
        loader = hr.DataLoader(dataset, 2, sampler=ids, seed=5, num_workers=num_workers, **options)
        state = loader.state_dict()
        whole = [row.numpy().tobytes() for batch, *_ in loader for row in batch]
        return loader, state, whole

    _, _, whole = rows()
    assert len(set(whole)) == len(ids)
    loader, state, again = rows()
    assert again == whole
    loader.load_state_dict(state | {"batches_delivered": 2})
    assert [row.numpy().tobytes() for batch, *_ in loader for row in batch] == whole[4:]


def generators():
    numbers = np.random.get_state()
    return random.getstate(), numbers[1].tolist(), numbers[2:], torch.get_rng_state().tolist()


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("fuse", [True, False])
def test_the_generators_of_the_caller_are_never_touched(make_dataset, num_workers, fuse):
    dataset = make_dataset()
    before = generators()
    loader = loader_of(dataset, num_workers=num_workers, fuse=fuse)
    loader.peek()
    list(loader)
    next(loader.forever())
    loader.load_state_dict(loader.state_dict())
    loader.set_batch_size(5)
    list(loader)
    loader.explain()
    assert generators() == before


def test_a_sampler_that_draws_for_itself_is_the_only_one_that_does():
    before = generators()
    assert sorted(drawn(loader_of(Drawn(), shuffle=None, sampler=RandomSampler(range(NUM))))) == list(range(NUM))
    after = generators()
    assert after[:3] == before[:3]
    assert after[3] != before[3], "torch's sampler takes its seed from torch's generator"
