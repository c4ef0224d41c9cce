"""Loose files through the loader, held against torch's own loader over the same folder."""

import os

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset, random_split
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import StorageError

CROP = v2.Compose([v2.Resize(64), v2.CenterCrop(48), v2.ToImage()])
FLOATS = v1.Compose([v1.Resize(64), v1.CenterCrop(48), v1.ToTensor(), v1.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])
RANDOM = v2.Compose([v2.RandomResizedCrop(40), v2.RandomHorizontalFlip(), v2.ToImage()])


def batches(loader):
    return [tuple(batch) for batch in loader]


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        for left, right in zip(mine, other, strict=True):
            assert left.dtype == right.dtype
            assert torch.equal(left, right)


@pytest.mark.parametrize("transform", [CROP, FLOATS], ids=["v2 uint8", "v1 float32"])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_are_those_of_torch(photographs, transform, num_workers):
    dataset = ImageFolder(photographs, transform)
    theirs = batches(torch.utils.data.DataLoader(dataset, batch_size=7))
    assert_same(batches(hr.DataLoader(dataset, 7, num_workers=num_workers)), theirs)


@pytest.mark.parametrize("drop_last", [False, True])
def test_len_and_tail_are_those_of_torch(photographs, drop_last):
    dataset = ImageFolder(photographs, CROP)
    theirs = torch.utils.data.DataLoader(dataset, batch_size=7, drop_last=drop_last)
    ours = hr.DataLoader(dataset, 7, drop_last=drop_last, num_workers=2)
    assert len(ours) == len(theirs)
    assert_same(batches(ours), batches(theirs))


def test_views_of_folders_take_the_fused_path(photographs):
    dataset = ImageFolder(photographs, CROP)
    first, second = random_split(dataset, [25, 35], generator=torch.Generator().manual_seed(3))
    for view in (Subset(dataset, [5, 2, -1, 2]), first, ConcatDataset([second, dataset, first])):
        ours = hr.DataLoader(view, 8, num_workers=2)
        assert "Python" not in ours.explain()
        assert "loose files" not in ours.explain()
        assert_same(batches(ours), batches(torch.utils.data.DataLoader(view, batch_size=8)))


def test_a_folder_is_explained_as_files(photographs):
    assert "loose files" in hr.DataLoader(ImageFolder(photographs, CROP), 8).explain()


def test_target_transform_runs(photographs):
    dataset = ImageFolder(photographs, CROP, target_transform=lambda label: label * 10)
    labels = torch.cat([labels for _, labels in hr.DataLoader(dataset, 16, num_workers=2)])
    assert labels.tolist() == [label * 10 for label in dataset.targets]


def test_collate_fn_gets_python_labels(photographs):
    dataset = ImageFolder(photographs, CROP)
    labels = hr.DataLoader(dataset, 60, num_workers=1, collate_fn=lambda rows: [label for _, label in rows]).peek()
    assert labels == dataset.targets
    assert {type(label) for label in labels} == {int}


def test_a_folder_with_its_own_items_runs_in_python_and_says_so(photographs):
    class Upside(ImageFolder):
        def __getitem__(self, index):
            image, label = super().__getitem__(index)
            return image.flip(-2), label

    dataset = Upside(photographs, CROP)
    ours = hr.DataLoader(dataset, 9, num_workers=2)
    assert "Upside has a __getitem__ of its own" in ours.explain()
    assert_same(batches(ours), batches(torch.utils.data.DataLoader(dataset, batch_size=9)))


def test_fused_crops_are_those_of_torchvision_with_the_same_draws(photographs):
    dataset = ImageFolder(photographs, RANDOM)
    fused = batches(hr.DataLoader(dataset, 11, shuffle=True, seed=5, num_workers=2))
    assert_same(fused, batches(hr.DataLoader(dataset, 11, shuffle=True, seed=5, num_workers=2, fuse=False)))
    assert_same(fused, batches(hr.DataLoader(dataset, 11, shuffle=True, seed=5, num_workers=0)))


def test_a_python_part_between_fused_ones_changes_nothing_else(photographs):
    invert = v2.Lambda(lambda image: image)
    middle = v2.Compose([v2.RandomResizedCrop(40), v2.RandomHorizontalFlip(), invert, v2.ToImage()])
    plain = batches(hr.DataLoader(ImageFolder(photographs, RANDOM), 11, seed=5, num_workers=2))
    assert_same(plain, batches(hr.DataLoader(ImageFolder(photographs, middle), 11, seed=5, num_workers=2)))


def test_seeds_and_epochs_give_other_crops(photographs):
    dataset = ImageFolder(photographs, RANDOM)
    loader = hr.DataLoader(dataset, 60, seed=1, num_workers=2)
    first, second = batches(loader), batches(loader)
    assert not torch.equal(first[0][0], second[0][0])
    other = batches(hr.DataLoader(dataset, 60, seed=2, num_workers=2))
    assert not torch.equal(first[0][0], other[0][0])
    loader.set_epoch(0)
    assert_same(batches(loader), first)


def test_channels_last_is_the_same_batch_in_another_layout(photographs):
    dataset = ImageFolder(photographs, CROP)
    plain = batches(hr.DataLoader(dataset, 8, num_workers=2))
    last = batches(hr.DataLoader(dataset, 8, num_workers=2, memory_format="channels_last"))
    assert_same(last, plain)
    assert all(images.is_contiguous(memory_format=torch.channels_last) for images, _ in last)
    assert all(images.is_contiguous() for images, _ in plain)


def test_kept_batches_are_never_overwritten(photographs):
    loader = hr.DataLoader(ImageFolder(photographs, CROP), 4, num_workers=2)
    kept, copies = [], []
    for _ in range(3):
        for images, _ in loader:
            kept.append(images)
            copies.append(images.clone())
    assert all(torch.equal(left, right) for left, right in zip(kept, copies, strict=True))


def test_a_file_that_is_gone_is_named(photographs, tmp_path):
    tree = tmp_path / "tree" / "one"
    tree.mkdir(parents=True)
    source = sorted(photographs.rglob("*.jpg"))
    for number in range(6):
        os.link(source[number], tree / f"{number}.jpg")
    dataset = ImageFolder(tree.parent, CROP)
    (tree / "4.jpg").unlink()
    with pytest.raises(StorageError, match=r"4\.jpg.*No such file"):
        list(hr.DataLoader(dataset, 2, num_workers=2))
    with pytest.raises(StorageError, match=r"4\.jpg"):
        list(hr.DataLoader(dataset, 2, num_workers=2, on_error="skip"))


def test_ranks_split_the_photographs_evenly(photographs):
    dataset = ImageFolder(photographs, CROP)
    ids, valid = [], []
    for rank in range(3):
        loader = hr.DataLoader(
            dataset, 7, shuffle=True, num_workers=1, topology=hr.Topology(rank=rank, world_size=3), extras=("index",)
        )
        steps = 0
        for _, _, index in loader:
            ids.append(index.numpy())
            valid.append(loader.valid)
            steps += 1
        assert steps == len(loader) == 3
    ids, valid = np.concatenate(ids), np.concatenate(valid)
    assert sorted(ids[valid]) == list(range(60))
    assert valid.sum() == 60
    assert len(ids) == 63
