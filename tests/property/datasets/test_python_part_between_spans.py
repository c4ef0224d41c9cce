"""Whole samples through a Python part between fused ones: the same as without fusing, draw for draw."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.datasets.plan import DecodeOptions, plan_sample
from headrace.errors import SampleError
from tests.joint_samples import joint_shape, keys_of, make_sample, run_program

TYPES = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
ENDING = [v2.SanitizeBoundingBoxes(), v2.ToImage(), v2.ToDtype(TYPES, scale=True)]


def halve_boxes(sample):
    """What a user might do to boxes without thinking of their type."""
    return sample | {"boxes": sample["boxes"].as_subclass(torch.Tensor) / 2}


class OwnCrop(v2.RandomIoUCrop):
    """A subclass could do anything, so it runs as it is."""


MIDDLES = {
    "own iou crop": OwnCrop(),
    "iou crop": v2.RandomIoUCrop(),
    "zoom out": v2.RandomZoomOut(p=0.7),
    "scale jitter": v2.ScaleJitter((60, 60)),
    "photometric": v2.RandomPhotometricDistort(p=0.7),
    "rotation": v2.RandomRotation(20),
    "vertical flip": v2.RandomVerticalFlip(),
    "user": lambda sample: sample,
    "pure boxes": halve_boxes,
    "second flip": v2.RandomHorizontalFlip(),
}
HEADS = {"none": [], "crop": [v2.RandomResizedCrop((40, 44)), v2.RandomHorizontalFlip()], "resize": [v2.Resize(50)]}
TAILS = {
    "fixed": [v2.Resize((24, 28)), v2.RandomHorizontalFlip()],
    "crop": [v2.RandomCrop((18, 20))],
    "none": [],
    "converted": [v2.ConvertBoundingBoxFormat("XYWH"), v2.CenterCrop(16), v2.ClampBoundingBoxes()],
}


@given(
    head=st.sampled_from(sorted(HEADS)),
    middle=st.sampled_from(sorted(MIDDLES)),
    tail=st.sampled_from(sorted(TAILS)),
    seed=st.integers(0, 100),
)
def test_fused_around_a_python_part_is_unfused(head, middle, tail, seed):
    ending = ENDING if middle != "pure boxes" else ENDING[1:]
    transform = v2.Compose([*HEADS[head], MIDDLES[middle], *TAILS[tail], *ending])
    samples = [make_sample(50 + 5 * row, 60 - 3 * row, 1 + (seed + row) % 3, seed + row) for row in range(3)]
    shape = joint_shape("image", "mask", "boxes", "labels")
    found, expected = (made(samples, shape, transform, seed, fuse) for fuse in (True, False))
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
        return
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one["mask"], other["mask"])
        assert torch.equal(one["labels"], other["labels"])
        torch.testing.assert_close(one["boxes"], other["boxes"], rtol=0, atol=1e-4)
        assert torch.equal(one["image"], other["image"])


def made(samples, shape, transform, seed, fuse):
    """The batch; the message where torchvision refuses a sample."""
    torch.manual_seed(seed)
    try:
        return run_program(samples, shape, transform, keys_of(len(samples), seed), fuse=fuse).batch
    except SampleError as error:
        return f"{type(error).__name__} {error}"


@pytest.mark.parametrize("middle", ["own iou crop", "photometric"])
def test_what_stands_around_a_python_part_is_fused(middle):
    transform = v2.Compose([*HEADS["crop"], MIDDLES[middle], *TAILS["fixed"], *ENDING])
    plan = plan_sample(joint_shape("image", "mask", "boxes", "labels"), transform, DecodeOptions())
    assert plan.joint is not None
    assert [place.place for place in plan.joint.recipe.explain] == ["fused", "fused", "python", *["fused"] * 5]
