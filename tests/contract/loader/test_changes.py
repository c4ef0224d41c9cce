"""What a script changes between two epochs."""

from __future__ import annotations

import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from tests.contract.loader.datasets import Numbers


class Scaled(Numbers):
    """Numbers times a factor that a training script changes as it goes."""

    factor = 1

    def __getitem__(self, index):
        return self.factor * index


def lists(loader):
    return [batch.tolist() for batch in loader]


def test_what_is_set_in_a_dataset_reaches_the_workers(kit):
    dataset = Scaled(3)
    loader = kit.make(dataset, batch_size=3)
    epochs = []
    for factor in (1, 1, 10):
        dataset.factor = factor
        epochs.append(lists(loader))
    assert epochs == [[[0, 1, 2]], [[0, 1, 2]], [[0, 10, 20]]]


def test_workers_that_persist_keep_their_dataset(process_kit):
    dataset = Scaled(3)
    loader = process_kit.make(dataset, batch_size=3, persistent_workers=True)
    epochs = []
    for factor in (1, 10):
        dataset.factor = factor
        epochs.append(lists(loader))
    assert epochs == [[[0, 1, 2]]] * 2


def test_a_dataset_may_grow_and_shrink(kit):
    dataset = Numbers(3)
    loader = kit.make(dataset, batch_size=2)
    assert lists(loader) == [[0, 1], [2]]
    dataset.num = 5
    assert len(loader) == 3
    assert lists(loader) == [[0, 1], [2, 3], [4]]
    dataset.num = 1
    assert lists(loader) == [[0]]
    assert len(loader) == 1


def test_images_get_the_transform_that_the_dataset_has_now(kit, photographs):
    def resized(size):
        return v2.Compose([v2.Resize((size, size)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])

    dataset = ImageFolder(photographs, transform=resized(8))
    loader = kit.make(dataset, batch_size=30)
    assert [images.shape[-1] for images, _ in loader] == [8, 8]
    dataset.transform = resized(16)
    assert [images.shape[-1] for images, _ in loader] == [16, 16]
    dataset.transform.transforms[0].size = [12, 12]
    assert [images.shape[-1] for images, _ in loader] == [12, 12]
    assert [images.shape[-1] for images, _ in loader] == [12, 12]


def test_a_changed_collate_fn_holds_from_the_next_epoch_on(kit):
    loader = kit.make(Numbers(4), batch_size=2, collate_fn=sum)
    assert list(loader) == [1, 5]
    loader.collate_fn = len
    assert list(loader) == [2, 2]
