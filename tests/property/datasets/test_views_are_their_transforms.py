"""Several views of a batch: each is what its transform gives alone, with the keys of that view."""

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.datasets.policy import Policy
from headrace.recipes.views import view_keys
from tests.joint_samples import (
    apply_drawn,
    assert_same,
    joint_shape,
    keys_of,
    make_sample,
    run_program,
    torchvision_sample,
)

FLOATS = v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)
LARGE = [v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.SanitizeBoundingBoxes(), v2.ToImage(), FLOATS]
SMALL = [v2.RandomResizedCrop((8, 9), scale=(0.05, 0.2)), v2.SanitizeBoundingBoxes(), v2.ToImage()]
BY_BOXES = [
    v2.RandomIoUCrop(),
    v2.RandomHorizontalFlip(),
    v2.Resize((20, 30)),
    v2.SanitizeBoundingBoxes(),
    v2.ToImage(),
    FLOATS,
]
NAMES = ("image", "mask", "boxes", "points", "labels")


@pytest.mark.parametrize("fuse", [True, False])
def test_every_view_of_every_kind_is_its_transform(fuse):
    samples = [make_sample(60 + row, 50 + 3 * row, row, row) for row in range(5)]
    shape, keys = joint_shape(*NAMES), keys_of(5)
    transform = hr.Views((v2.Compose(LARGE), 2), (v2.Compose(SMALL), 3), (v2.Compose(BY_BOXES), 2))
    made = run_program(samples, shape, transform, keys, fuse=fuse).batch
    for view, transforms in enumerate([LARGE] * 2 + [SMALL] * 3 + [BY_BOXES] * 2):
        for found, sample, key in zip(made, samples, view_keys(keys, view), strict=True):
            for place, value in apply_drawn(transforms, torchvision_sample(sample, shape), key).items():
                assert_same(found[place][view], value, place)


@pytest.mark.parametrize("fuse", [True, False])
def test_a_python_part_gets_views_too(fuse):
    samples = [make_sample(40, 50, 1, row) for row in range(3)]
    shape, keys = joint_shape("image", "labels"), keys_of(3)

    def mark(sample):
        return sample | {"image": v2.functional.adjust_brightness(sample["image"], hr.rng().uniform(0.5, 1.5))}

    transforms = [v2.RandomResizedCrop(24), mark, v2.ToImage()]
    made = run_program(samples, shape, hr.Views((v2.Compose(transforms), 2)), keys, fuse=fuse).batch
    for view in range(2):
        for found, sample, key in zip(made, samples, view_keys(keys, view), strict=True):
            expected = apply_drawn(transforms, torchvision_sample(sample, shape), key)
            assert_same(found["image"][view], expected["image"], "image")
            assert torch.equal(found["labels"], expected["labels"])


def test_a_batch_holds_one_tensor_a_view_and_other_leaves_once():
    samples = [make_sample(60, 50, 2, row) for row in range(4)]
    shape = joint_shape("image", "labels")
    transform = hr.Views((v2.RandomResizedCrop(24), 2), (v2.RandomResizedCrop(8), 6))
    batch = run_program(samples, shape, transform, keys_of(4), policy=Policy()).batch
    assert [tuple(view.shape) for view in batch["image"]] == [(4, 3, 24, 24)] * 2 + [(4, 3, 8, 8)] * 6
    assert batch["labels"].shape == (4, 2)
    assert not torch.equal(batch["image"][0], batch["image"][1])


def test_one_field_of_a_dict_of_transforms_has_views():
    samples = [make_sample(60, 50, 2, row) for row in range(4)]
    shape = joint_shape("image", "second", "labels")
    transform = {"image": hr.Views((v2.RandomResizedCrop(24), 2)), "second": v2.Resize((7, 7)), "labels": np.sum}
    batch = run_program(samples, shape, transform, keys_of(4), policy=Policy()).batch
    assert [tuple(view.shape) for view in batch["image"]] == [(4, 3, 24, 24)] * 2
    assert batch["second"].shape == (4, 3, 7, 7)
    assert batch["labels"].shape == (4,)


def test_a_bad_row_of_any_view_repeats_a_good_row_in_all():
    samples = [make_sample(60, 50, 2, row) for row in range(4)]
    samples[2].files["jpg"] = b"no image"
    shape = joint_shape("image", "labels")
    transform = hr.Views((v2.RandomResizedCrop(24), 2))
    result = run_program(samples, shape, transform, keys_of(4), policy=Policy(on_error="skip"))
    assert result.valid.tolist() == [True, True, False, True]
    for view in result.batch["image"]:
        assert any(torch.equal(view[2], view[row]) for row in (0, 1, 3))


@pytest.mark.parametrize("names", [("image", "labels"), ("image", "mask", "labels")])
def test_views_of_a_batch_without_a_good_row_are_zeros(names):
    samples = [make_sample(60, 50, 2, row) for row in range(3)]
    for sample in samples:
        sample.files["jpg"] = b"no image"
    transform = hr.Views((v2.RandomResizedCrop(24), 2))
    result = run_program(samples, joint_shape(*names), transform, keys_of(3), policy=Policy(on_error="skip"))
    assert not result.valid.any()
    assert [tuple(view.shape) for view in result.batch["image"]] == [(3, 3, 24, 24)] * 2
    assert not any(view.any() for view in result.batch["image"])
