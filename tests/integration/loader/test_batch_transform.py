"""`batch_transform=`: the same numbers in every engine, after a resume, and on each rank its own."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OptionError
from headrace.order import Topology

ENGINES = [{"num_workers": 0}, {"engine": "threads", "num_workers": 2}, {"engine": "processes", "num_workers": 2}]
IMAGES = v2.Compose([v2.Resize((16, 16)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
MIX = v2.RandomChoice([v2.MixUp(alpha=0.4, num_classes=10), v2.CutMix(num_classes=10)])


class Rows(Dataset):
    """Rows that only Python knows."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return {"x": torch.full((3, 8, 8), float(index)), "label": index % 10}


class Stream(IterableDataset):
    def __iter__(self):
        return (torch.full((4,), float(index)) for index in range(24))


class NumpyMix:
    """As other libraries have it: numbers of numpy's and Python's global generators."""

    def __call__(self, batch):
        share = np.random.beta(0.4, 0.4) + random.random()
        return [batch[0] * share, batch[1]]


def own_numbers(batch):
    return [batch[0] * hr.rng().random(), torch.from_numpy(hr.rng().permutation(len(batch[1])))]


def files(photographs, **options):
    return hr.FileDataset(photographs, fields=("image", "label"), transform=IMAGES, **options)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("call", [MIX, NumpyMix(), own_numbers], ids=["v2", "numpy", "rng"])
def test_all_engines_give_the_same_and_leave_the_callers_generators_alone(photographs, call):
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    epochs = []
    for options in ENGINES:
        loader = hr.DataLoader(files(photographs), 16, shuffle=True, seed=2, batch_transform=call, **options)
        epochs.append([list(loader), list(loader)])
        if options["num_workers"] == 0:
            assert random.getstate() == states[0]
            assert np.random.get_state()[1].tolist() == states[1]
        assert torch.equal(torch.get_rng_state(), states[2])
    assert same(epochs[0], epochs[1])
    assert same(epochs[0], epochs[2])
    assert not same(epochs[0][0], epochs[0][1])


def test_it_gets_the_batch_that_would_be_delivered(photographs):
    plain = list(hr.DataLoader(files(photographs), 16, num_workers=2))
    seen = []
    loader = hr.DataLoader(files(photographs), 16, num_workers=0, batch_transform=lambda batch: seen.append(batch) or 1)
    assert list(loader) == [1] * len(plain)
    assert same(seen, plain)


@pytest.mark.parametrize("options", ENGINES)
def test_a_resumed_run_goes_on_with_the_same_numbers(photographs, options):
    settings = {"shuffle": True, "seed": 4, "batch_transform": MIX, **options}
    whole = list(hr.DataLoader(files(photographs), 8, **settings))
    first = hr.DataLoader(files(photographs), 8, **settings)
    iterator = iter(first)
    begun = [next(iterator) for _ in range(3)]
    state = first.state_dict()
    first.close()
    second = hr.DataLoader(files(photographs), 8, **settings)
    second.load_state_dict(state)
    peeked = second.peek()
    rest = list(second)
    assert same(peeked, rest[0])
    assert same([*begun, *rest], whole)


def test_ranks_draw_numbers_of_their_own_and_equal_ranks_equal_ones(photographs):
    def shares(rank):
        loader = hr.DataLoader(
            Rows(), 4, topology=Topology(rank=rank, world_size=2), batch_transform=lambda _: hr.rng().random()
        )
        return list(loader)

    assert shares(0) == shares(0)
    assert not set(shares(0)) & set(shares(1))


@pytest.mark.parametrize("options", ENGINES)
def test_dicts_of_python_datasets_and_extras(options):
    cut = v2.CutMix(num_classes=10)
    loader = hr.DataLoader(Rows(), 10, batch_transform=cut, extras=("index", "valid"), seed=1, **options)
    batches = list(loader)
    assert [batch["__index__"].tolist() for batch in batches] == [list(range(at, at + 10)) for at in range(0, 40, 10)]
    assert all(batch["label"].shape == (10, 10) and batch["__valid__"].all() for batch in batches)
    assert same(batches, list(hr.DataLoader(Rows(), 10, batch_transform=cut, extras=("index", "valid"), seed=1)))


def test_extras_stand_beside_what_it_gives(photographs):
    loader = hr.DataLoader(files(photographs), 6, batch_transform=MIX, extras=("index",))
    images, labels, index = next(iter(loader))
    assert images.shape == (6, 3, 16, 16)
    assert labels.shape == (6, 10)
    assert index.tolist() == list(range(6))
    texts = hr.FileDataset([{"path": "x", "t": "a"}] * 4, fields="t")
    loader = hr.DataLoader(texts, 2, batch_transform=lambda batch: [len(batch), "b"], extras=("index",), collate="list")
    assert same(next(iter(loader)), [2, "b", torch.tensor([0, 1])])


@pytest.mark.parametrize("options", ENGINES)
def test_streams(options):
    options = options | {"num_workers": min(1, options["num_workers"])}  # several would each give the whole stream
    loader = hr.DataLoader(Stream(), 6, batch_transform=lambda batch: batch + hr.rng().random(), seed=3, **options)
    one, two = list(loader), list(loader)
    added = [float(batch[0, 0]) % 1 for batch in [*one, *two]]
    assert len(set(added)) == len(added)


def test_where_it_runs_is_explained(photographs):
    loader = hr.DataLoader(files(photographs), 8, batch_transform=v2.MixUp(num_classes=10))
    assert "MixUp on the workers (seeded by (seed, epoch, batch, rank 0))" in loader.explain()
    assert "engine   threads" in loader.explain()
    text = hr.DataLoader(files(photographs), 8, num_workers=2, batch_transform=NumpyMix()).explain()
    assert "processes (numpy.random draws from global generators" in text
    text = hr.DataLoader(files(photographs), 8, engine="threads", num_workers=2, batch_transform=NumpyMix()).explain()
    assert "it draws from numpy.random, which threads share" in text


@pytest.mark.parametrize("options", ENGINES)
def test_what_it_raises_keeps_its_type_and_names_the_batch(photographs, options):
    def fail(batch):
        raise KeyError("lost")

    loader = hr.DataLoader(files(photographs), 8, batch_transform=fail, **options)
    with pytest.raises(KeyError) as caught:
        list(loader)
    loader.close()
    assert any("batch_transform= for batch 0 of epoch 0, rank 0" in note for note in caught.value.__notes__)


def test_what_is_no_function_is_refused(photographs):
    with pytest.raises(OptionError, match="batch_transform cannot be called"):
        hr.DataLoader(files(photographs), 8, batch_transform="mixup")
