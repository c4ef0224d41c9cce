"""Samples one by one: what only our loader has, and datasets that are read by the batch."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import Dataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OptionError


class Numbers(Dataset):
    def __init__(self, num, bad=()):
        self.num = num
        self.bad = bad

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        if index in self.bad:
            raise ValueError(f"{index} is bad")
        return index


TO_TENSOR = v2.Compose([v2.Resize((8, 8)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


@pytest.mark.parametrize("num_workers", [0, 2])
def test_images_are_decoded_natively_and_labels_stay_numbers(photographs, num_workers):
    dataset = ImageFolder(photographs, transform=TO_TENSOR)
    loader = hr.DataLoader(dataset, batch_size=None, num_workers=num_workers)
    assert "fused" in loader.explain()
    samples = list(loader)
    assert len(samples) == len(loader) == len(dataset)
    batched = [row for images, labels in hr.DataLoader(dataset, 7) for row in zip(images, labels.tolist(), strict=True)]
    for (image, label), (expected, number) in zip(samples, batched, strict=True):
        assert torch.equal(image, expected)
        assert label == number
        assert type(label) is int
    picked = hr.DataLoader(dataset, batch_size=None, sampler=[5, -1], collate_fn=tuple, num_workers=num_workers)
    assert [label for _, label in picked] == [samples[5][1], samples[-1][1]]


def test_extras_are_single_values(photographs):
    dataset = ImageFolder(photographs, transform=TO_TENSOR)
    *_, number, key, valid = next(iter(hr.DataLoader(dataset, batch_size=None, extras=("index", "key", "valid"))))
    assert (number.item(), key, valid.item()) == (0, dataset.samples[0][0], True)


def test_keys_are_the_index_of_their_samples():
    loader = hr.DataLoader({"a": 1, "b": 2}, 2, sampler=["b", "a"], extras="index", num_workers=0)
    values, keys = next(iter(loader))
    assert (values.tolist(), keys) == ([2, 1], ["b", "a"])


def test_a_state_goes_on_behind_the_last_sample():
    loader = hr.DataLoader(Numbers(9), batch_size=None, shuffle=True, seed=3, num_workers=0)
    whole = list(loader)
    loader = hr.DataLoader(Numbers(9), batch_size=None, shuffle=True, seed=3, num_workers=0)
    iterator = iter(loader)
    begun = [next(iterator) for _ in range(4)]
    other = hr.DataLoader(Numbers(9), batch_size=None, shuffle=True, seed=3, num_workers=0)
    other.load_state_dict(loader.state_dict())
    assert begun + list(other) == whole


def test_a_state_of_a_sampler_of_keys_goes_on_behind_the_last_batch():
    def make():
        return hr.DataLoader({"a": 1, "b": 2, "c": 3}, sampler=["c", "a", "b"], num_workers=0)

    loader = make()
    assert next(iter(loader)).tolist() == [3]
    other = make()
    other.load_state_dict(loader.state_dict())
    assert [batch.tolist() for batch in other] == [[1], [2]]


def test_a_sample_that_is_skipped_is_replaced_and_not_valid():
    loader = hr.DataLoader(Numbers(4, bad=(1,)), batch_size=None, on_error="skip", num_workers=0)
    assert [(sample, loader.valid.tolist()) for sample in loader] == [
        (0, [True]),
        (2, [False]),
        (2, [True]),
        (3, [True]),
    ]


def test_a_part_of_a_dataset_names_and_skips_single_samples():
    part = Subset(Numbers(8, bad=(5,)), [4, 5, 6])
    with pytest.raises(ValueError, match="5 is bad") as caught:
        list(hr.DataLoader(part, 3, num_workers=0))
    assert "headrace: sample 1 of Subset" in caught.value.__notes__
    loader = hr.DataLoader(part, 3, num_workers=0, on_error="skip")
    assert [(batch.tolist(), loader.valid.tolist()) for batch in loader] == [([4, 6, 6], [True, False, True])]


def test_ranks_share_samples():
    found = [
        list(hr.DataLoader(Numbers(6), batch_size=None, num_workers=0, topology=hr.Topology(rank=rank, world_size=2)))
        for rank in range(2)
    ]
    assert sorted(found[0] + found[1]) == list(range(6))
    assert len(found[0]) == len(found[1])


def test_there_are_no_batches_to_change():
    loader = hr.DataLoader(Numbers(6), batch_size=None, num_workers=0)
    assert repr(loader).endswith("batch_size=None, seed=0)")
    with pytest.raises(OptionError, match="no batches"):
        loader.set_batch_size(3)
    with pytest.raises(OptionError, match="excludes drop_last and collate"):
        hr.DataLoader(Numbers(6), batch_size=None, collate="list")


def test_rules_can_be_called_by_themselves():
    loader = hr.DataLoader(Numbers(6), 2, collate="list")
    assert loader.collate_fn([1, "a"]) == [1, "a"]
    padded = hr.DataLoader(Numbers(6), 2, collate=hr.Pad(value=-1)).collate_fn([torch.arange(2), torch.arange(1)])
    assert padded.tolist() == [[0, 1], [0, -1]]
