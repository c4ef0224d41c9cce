from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace._base.hashing import sample_keys
from headrace.recipes import draws
from headrace.recipes.counted import counted
from headrace.recipes.randomness import sample_randomness
from tests.encoded_images import photograph

KEYS = sample_keys(1, 2, np.arange(20))
IMAGE = photograph(40, 60)
OPS = [
    library.__dict__[name](*args)
    for library in (v1, v2)
    for name, args in [("RandomResizedCrop", (16,)), ("RandomCrop", (16,)), ("RandomHorizontalFlip", (0.5,))]
]


def call(op, image, key):
    with sample_randomness(int(key)):
        return op(image)


@pytest.mark.parametrize("op", OPS, ids=lambda op: f"{type(op).__module__} {type(op).__name__}")
def test_twin_draws_from_the_key_and_leaves_torchs_generator_alone(op):
    twin = counted(op, 3)
    state = torch.get_rng_state()
    first = [call(twin, IMAGE, key).tobytes() for key in KEYS]
    assert torch.equal(torch.get_rng_state(), state)
    assert [call(twin, IMAGE, key).tobytes() for key in KEYS] == first
    assert len(set(first)) > 1
    assert [call(counted(op, 4), IMAGE, key).tobytes() for key in KEYS] != first


@pytest.mark.parametrize("library", [v1, v2])
def test_flip_is_the_one_that_is_drawn(library):
    twin = counted(library.RandomHorizontalFlip(0.3), 7)
    flipped = [call(twin, IMAGE, key).tobytes() != IMAGE.tobytes() for key in KEYS]
    assert flipped == draws.flips(KEYS, 0.3, 7).tolist()


def test_one_box_moves_the_whole_sample():
    mask = tv_tensors.Mask(torch.arange(40 * 60).reshape(40, 60) % 251)
    twin = counted(v2.RandomResizedCrop(16, interpolation=0), 0)
    image = tv_tensors.Image(mask[None].expand(3, 40, 60).to(torch.uint8))
    for key in KEYS:
        sample = call(twin, {"image": image, "mask": mask, "label": 3}, key)
        assert torch.equal(sample["image"][0].long(), sample["mask"].long())
        assert sample["label"] == 3


def test_flip_moves_boxes_with_the_image():
    boxes = tv_tensors.BoundingBoxes([[0, 0, 10, 10]], format="XYXY", canvas_size=(40, 60))
    twin = counted(v2.RandomHorizontalFlip(1.0), 0)
    image, moved = call(twin, (IMAGE, boxes), KEYS[0])
    assert moved.tolist() == [[50, 0, 60, 10]]
    assert image.tobytes() != IMAGE.tobytes()


def test_other_transforms_come_back_as_they_are():
    class Mine(v1.RandomCrop):
        pass

    for op in (v1.ColorJitter(), Mine(3), len):
        assert counted(op, 0) is op


@pytest.mark.parametrize(
    "options",
    [{}, {"padding": 2}, {"padding": (1, 2, 3, 4), "fill": 9}, {"pad_if_needed": True, "padding_mode": "reflect"}],
)
@pytest.mark.parametrize("size", [(40, 60), (30, 60), (41, 55), (44, 66)])
def test_v2_crop_has_the_padding_of_its_parent(options, size):
    op = v2.RandomCrop(size, **options)
    twin = counted(op, 0)
    try:
        wanted = op.make_params([IMAGE])
    except ValueError:
        with pytest.raises(ValueError, match="larger than"):
            call(twin, IMAGE, KEYS[0])
        return
    with sample_randomness(int(KEYS[0])):
        got = twin.make_params([IMAGE])
    places = {"top", "left"}
    assert {k: v for k, v in got.items() if k not in places} == {k: v for k, v in wanted.items() if k not in places}


@pytest.mark.parametrize("library", [v1, v2])
def test_crop_that_does_not_fit_raises_as_torchvision_does(library):
    with pytest.raises(ValueError, match="larger than"):
        call(counted(library.RandomCrop(50), 0), IMAGE, KEYS[0])


def detection_sample(size=(40, 60), corners=((5, 5, 30, 30), (20, 10, 55, 38))):
    boxes = tv_tensors.BoundingBoxes(torch.tensor(corners), format="XYXY", canvas_size=size)
    image = tv_tensors.Image(torch.arange(3 * size[0] * size[1]).reshape(3, *size) % 251)
    return {"image": image, "boxes": boxes, "mask": tv_tensors.Mask(image[0].clone())}


def test_iou_crop_draws_from_the_key_and_leaves_torchs_generator_alone():
    twin, state = counted(v2.RandomIoUCrop(), 3), torch.get_rng_state()
    sizes = [call(twin, detection_sample(), key)["image"].shape for key in KEYS]
    assert torch.equal(torch.get_rng_state(), state)
    assert [call(twin, detection_sample(), key)["image"].shape for key in KEYS] == sizes
    assert len(set(sizes)) > len(KEYS) // 3
    assert [call(counted(v2.RandomIoUCrop(), 4), detection_sample(), key)["image"].shape for key in KEYS] != sizes


def test_iou_crop_moves_the_whole_sample_and_empties_boxes_outside():
    twin, emptied = counted(v2.RandomIoUCrop(sampler_options=[0.1]), 0), 0
    for key in KEYS:
        sample = detection_sample()
        with sample_randomness(int(key)):
            params = twin.make_params([sample["image"], sample["boxes"]])
        window = [params[name] for name in ("top", "left", "height", "width")]
        made = call(twin, sample, key)
        assert torch.equal(made["image"], v2.functional.crop(sample["image"], *window))
        assert torch.equal(made["mask"].long(), made["image"][0].long())
        expected = v2.functional.crop(sample["boxes"], *window)
        expected[~params["is_within_crop_area"]] = 0
        assert torch.equal(made["boxes"], expected)
        emptied += int((made["boxes"] == 0).all(dim=1).sum())
    assert emptied


@pytest.mark.parametrize("method", ["forward", "make_params", "transform", "check_inputs"])
def test_an_instance_with_a_method_of_its_own_is_left_alone(method):
    op = v2.RandomIoUCrop()
    setattr(op, method, getattr(op, method))
    assert counted(op, 0) is op
