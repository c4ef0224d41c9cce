from __future__ import annotations

import re

import pytest
import torch

from tests.integration.examples.fingerprints import fingerprints
from tests.integration.examples.marked_photographs import COLOURS, write_coco

NUM_PHOTOGRAPHS = 24


@pytest.fixture(scope="module")
def example(load_script):
    return load_script("detection")


@pytest.fixture(scope="module")
def boxed(photographs, load_script, tmp_path_factory):
    """24 photographs with up to two painted rectangles each, packed by the example from COCO's annotations."""
    folder = tmp_path_factory.mktemp("boxed")
    write_coco(photographs, folder / "coco", NUM_PHOTOGRAPHS)
    packing = load_script("detection", "pack_coco")
    arguments = [folder / "coco", folder / "coco" / "annotations.json", folder / "shards", "--samples-per-shard=8"]
    packing.pack(packing.parse_arguments(list(map(str, arguments))))
    return str(folder / "shards" / "train-{000000..000002}.tar")


def share_painted(image, box, class_name):
    """The share of the pixels inside of a box that have the colour of its class."""
    left, top, right, bottom = box.round().int().tolist()
    inside = image[:, top:bottom, left:right]
    colour = torch.tensor(COLOURS[class_name])[:, None, None] / 255
    return float(((inside - colour).abs().amax(0) < 0.2).float().mean())


def test_boxes_lie_on_what_they_mark(example, boxed):
    loader = example.make_loader(example.parse_arguments([boxed, "--batch-size=8"]))
    names = loader.dataset.classes
    assert set(names) == set(COLOURS)
    photographs = [
        sample for batch in loader for sample in zip(*(example.move(batch, torch.device("cpu"))), strict=True)
    ]
    assert len(photographs) == NUM_PHOTOGRAPHS
    seen = []
    for image, target in photographs:
        assert target["boxes"].shape == (len(target["labels"]), 4)
        for box, label in zip(target["boxes"], target["labels"].tolist(), strict=True):
            assert share_painted(image, box, names[label - 1]) > 0.95
            seen.append(names[label - 1])
    assert set(seen) == set(COLOURS)
    assert any(not len(target["labels"]) for _, target in photographs), "photographs without objects are kept"
    assert len({image.shape for image, _ in photographs}) > NUM_PHOTOGRAPHS // 2, "crops have sizes of their own"
    loader.close()


@pytest.mark.timeout(300)
def test_learns_and_goes_on_after_a_crash(example, boxed, goes_on_with_the_same_images):
    loader = example.make_loader(example.parse_arguments([boxed, "--batch-size=6"]))
    whole = [fingerprints(batch["image"]) for _ in range(4) for batch in loader]
    loader.close()
    options = ["--model=ssdlite320_mobilenet_v3_large", "--epochs=4", "--lr=0.01"]
    printed = goes_on_with_the_same_images("detection", boxed, whole, *options, batch_size=3)
    lines = re.findall(r"^epoch (\d): loss (\d+\.\d+)$", printed, re.MULTILINE)
    assert [epoch for epoch, _ in lines] == ["0", "1", "2", "3"]
    assert float(lines[-1][1]) < 0.9 * float(lines[0][1])
