from __future__ import annotations

import re

import pytest
import torch

from headrace.pack import PackOptions, pack
from tests.integration.examples.fingerprints import fingerprints
from tests.integration.examples.marked_photographs import IGNORED, write_masked

NUM_PHOTOGRAPHS = 24
SMALL = ("--num-classes=2", "--size=64")


@pytest.fixture(scope="module")
def example(load_script):
    return load_script("segmentation")


@pytest.fixture(scope="module")
def masked(photographs, tmp_path_factory):
    """24 photographs in three shards; masks say where they have much red, little, and neither."""
    folder = tmp_path_factory.mktemp("masked")
    write_masked(photographs, folder / "siblings", NUM_PHOTOGRAPHS)
    pack(str(folder / "siblings"), str(folder / "shards"), PackOptions(samples_per_shard=8, name="train"))
    return str(folder / "shards" / "train-{000000..000002}.tar")


def share_right(images, masks, example):
    """The share of the pixels with a class that have the red which that class has."""
    red = images[:, 0] * example.STD[0] + example.MEAN[0]
    known = masks != IGNORED
    return float(((red > 0.5) == (masks == 1))[known].float().mean())


@pytest.mark.parametrize("part", ["train", "validation"])
def test_masks_lie_on_what_they_mark(example, masked, part):
    args = example.parse_arguments([masked, f"--validate={masked}", *SMALL, "--batch-size=8"])
    loader = example.make_train_loader(args) if part == "train" else example.make_validation_loader(args)
    batches = list(loader)
    images = torch.cat([batch["image"] for batch in batches])
    masks = torch.cat([batch["mask"] for batch in batches])
    assert images.shape == (NUM_PHOTOGRAPHS, 3, 64, 64)
    assert set(masks.unique().tolist()) == {0, 1, IGNORED}, "resampled masks have no values in between"
    assert share_right(images, masks, example) > 0.97
    for other in (masks.flip(-1), masks.roll(1, 0)):
        assert share_right(images, other, example) < 0.85, (
            "of masks that lie elsewhere, or belong to another photograph"
        )


@pytest.mark.timeout(300)
def test_learns_and_goes_on_after_a_crash(example, masked, goes_on_with_the_same_images):
    loader = example.make_train_loader(example.parse_arguments([masked, *SMALL, "--batch-size=6"]))
    whole = [fingerprints(batch["image"]) for _ in range(4) for batch in loader]
    options = [*SMALL, "--epochs=4", "--lr=0.1", f"--validate={masked}"]
    printed = goes_on_with_the_same_images("segmentation", masked, whole, *options, batch_size=3)
    lines = re.findall(r"^epoch (\d): loss (\d+\.\d+), mean IoU ([\d.]+)%$", printed, re.MULTILINE)
    assert [epoch for epoch, _, _ in lines] == ["0", "1", "2", "3"]
    assert float(lines[-1][1]) < 0.6, "better than the ln 2 of a coin"
