"""Transforms by field, of fields that are no images: what they get, what they draw, and which engine runs them."""

import random
from contextlib import closing

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OptionError, TransformError

NUM = 12
POINTS = hr.field("json", get="points", kind="keypoints")
BOXES = hr.field("json", get="boxes", kind="boxes")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    path = tmp_path_factory.mktemp("by field")
    with hr.ShardWriter(str(path / "%d.tar")) as writer:
        for number in range(NUM):
            pixels = np.random.default_rng(number).integers(0, 21, (20, 30), dtype=np.uint8)
            writer.write(
                {
                    "__key__": f"{number:02d}",
                    "png": Image.fromarray(np.repeat(pixels[:, :, None], 3, 2)),
                    "seg.png": pixels,
                    "json": {"boxes": [[1, 2, 3, 4]], "points": [[5, 6]]},
                    "txt": f"text {number}",
                }
            )
    return str(path / "0.tar")


def loader(shards, fields, transform, **options):
    dataset = hr.ShardDataset(shards, fields=fields, transform=transform)
    return hr.DataLoader(dataset, batch_size=4, **options)


@pytest.mark.parametrize("step", [v2.Resize((7, 9)), v2.CenterCrop(8), v2.RandomHorizontalFlip(1.0), v2.Pad(3)])
def test_masks_are_masks_to_torchvision(shards, step):
    fields = {"image": "png", "mask": "seg.png"}
    found = hr.ShardDataset(shards, fields=fields, transform={"mask": step})[3]["mask"]
    plain = hr.ShardDataset(shards, fields=fields)[3]["mask"]
    assert type(found) is torch.Tensor
    assert torch.equal(found, step(tv_tensors.Mask(plain)).as_subclass(torch.Tensor))


def test_the_same_transform_draws_the_same_for_an_image_and_its_mask(shards):
    step = v2.Compose([v2.RandomCrop(8), v2.RandomHorizontalFlip()])
    batches = loader(shards, {"image": "png", "mask": "seg.png"}, {"image": step, "mask": step}, num_workers=0)
    for batch in batches:
        assert torch.equal(batch["image"][:, 0], batch["mask"])


@pytest.mark.parametrize("entry", [BOXES, POINTS], ids=["boxes", "keypoints"])
@pytest.mark.parametrize("step", [v2.RandomHorizontalFlip(1.0), v2.Compose([v2.Resize(9), v2.ClampBoundingBoxes()])])
def test_boxes_and_points_without_their_image_are_not_for_torchvision(shards, entry, step):
    dataset = hr.ShardDataset(shards, fields={"image": "png", "there": entry}, transform={"there": step})
    with pytest.raises(OptionError, match=r"without their image.*field=there.*one transform for the whole sample"):
        dataset[0]
    own = hr.ShardDataset(shards, fields={"image": "png", "there": entry}, transform={"there": torch.negative})
    assert own[0]["there"].max() < 0


def choose(text):
    return f"{text} {random.random()}"


def choose_of_numpy(texts):
    return [f"{text} {np.random.rand()}" for text in texts]


@pytest.mark.parametrize(
    ("transform", "collate"),
    [({"text": choose}, None), ({"text": v2.Lambda(choose)}, None), (None, {"text": choose_of_numpy})],
    ids=["transform", "in torchvision's", "collate"],
)
def test_functions_that_draw_globally_are_no_work_for_threads(shards, transform, collate):
    made = []
    for num_workers in (1, 2):
        options = {"collate": collate, "num_workers": num_workers}
        with closing(loader(shards, {"image": "png", "text": "txt"}, transform, **options)) as batches:
            assert "processes (samples draw from global generators" in batches.explain()
            made.append([batch["text"] for batch in batches])
    assert made[0] == made[1]


def test_they_are_explained(shards):
    explained = loader(shards, {"image": "png", "text": "txt"}, {"text": choose}).explain()
    assert "Python: choose (of a field of kind text)" in explained


def test_numbers_of_a_field_follow_the_sample(shards):
    def numbered(text):
        return f"{text} {hr.rng().integers(1 << 30)}"

    fields, transform = {"image": "png", "text": "txt"}, {"text": numbered}
    made = [
        [batch["text"] for batch in loader(shards, fields, transform, **options)]
        for options in ({"num_workers": 0}, {"num_workers": 2, "engine": "threads"})
    ]
    assert made[0] == made[1]


def test_what_one_raises_names_it_and_the_sample(shards):
    def refuse(text):
        raise ValueError(text)

    batches = loader(shards, {"image": "png", "text": "txt"}, {"text": refuse}, num_workers=0)
    with pytest.raises(
        TransformError, match=r"refuse \(number 1 of its list\) raised ValueError: text 0.*key=00, field=text"
    ):
        next(iter(batches))
