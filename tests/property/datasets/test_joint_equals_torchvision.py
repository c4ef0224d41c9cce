"""Whole samples through fused and unfused transforms against torchvision's functionals with the same parameters."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.datasets.plan import DecodeOptions, plan_sample
from tests.joint_samples import (
    apply_drawn,
    assert_same,
    joint_shape,
    keys_of,
    make_sample,
    run_program,
    torchvision_sample,
)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TYPES = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}

ENDINGS = {
    "pil": [],
    "uint8": [v2.ToImage()],
    "table of types": [v2.ToImage(), v2.ToDtype(TYPES, scale=True), v2.Normalize(MEAN, STD)],
    "pure": [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor()],
}

sides = st.integers(2, 80)
filters = st.sampled_from(["nearest", "bilinear", "bicubic"])


@st.composite
def geometries(draw):
    size, interpolation = (draw(sides), draw(sides)), draw(filters)
    steps = draw(
        st.sampled_from(
            [
                [],
                [v2.RandomResizedCrop(size, interpolation=interpolation)],
                [v2.RandomResizedCrop(size, scale=(0.3, 0.6), ratio=(0.5, 3.0))],
                [v2.Resize(size, interpolation=interpolation)],
                [v2.Resize(60), v2.CenterCrop(size)],
                [v2.Resize(40, max_size=70), v2.CenterCrop(size)],
                [v2.Resize((91, 97)), v2.RandomCrop(size)],
                [v2.Resize(size), v2.RandomCrop(size)],
                [v2.CenterCrop(size)],
            ]
        )
    )
    return [*steps, v2.RandomHorizontalFlip(draw(st.sampled_from([0.0, 0.5, 1.0])))]


@st.composite
def iou_crops(draw):
    """What SSD and its like do: a crop by the boxes, a flip, a resize to one size; in any order."""
    options = draw(st.sampled_from([None, [0.0, 1.0], [0.3, 0.7, 1.0], [1.0]]))
    crop = v2.RandomIoUCrop(draw(st.sampled_from([0.1, 0.3, 1.0])), 1.0, 0.5, 2.0, options, draw(st.integers(1, 40)))
    flip = v2.RandomHorizontalFlip(draw(st.sampled_from([0.0, 0.5, 1.0])))
    resize = v2.Resize((draw(sides), draw(sides)), interpolation=draw(filters))
    return draw(
        st.sampled_from(
            [
                [crop, flip, resize],
                [crop, resize, flip],
                [crop, resize],
                [crop, flip],
                [crop],
                [flip, crop, resize],
                [v2.RandomResizedCrop((50, 40)), crop, flip, resize],
                [v2.Resize(50), crop, resize, v2.CenterCrop((20, 30))],
                [crop, v2.Resize(30), v2.CenterCrop(28)],
                [v2.SetClampingMode(None), crop, flip, resize],
                [crop, crop, resize],
            ]
        )
    )


@st.composite
def box_steps(draw):
    """What detection pipelines do to boxes between or after geometry."""
    return draw(
        st.sampled_from(
            [
                [],
                [v2.SanitizeBoundingBoxes()],
                [v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=3, min_area=20)],
                [v2.ConvertBoundingBoxFormat("CXCYWH"), v2.ClampBoundingBoxes()],
                [v2.ConvertBoundingBoxFormat("XYWH"), v2.SanitizeBoundingBoxes(labels_getter=None)],
                [v2.SetClampingMode(None), v2.ClampKeyPoints()],
            ]
        )
    )


def check(samples, shape, transforms, fuse):
    keys = keys_of(len(samples))
    transform = v2.Compose(transforms) if transforms else v2.Identity()
    made = run_program(samples, shape, transform, keys, fuse=fuse).batch
    for found, sample, key in zip(made, samples, keys, strict=True):
        expected = apply_drawn(transforms, torchvision_sample(sample, shape), key)
        for place, value in expected.items():
            assert_same(found[place], value, place)


@given(
    geometry=geometries() | iou_crops(),
    extra=box_steps(),
    ending=st.sampled_from(sorted(ENDINGS)),
    sizes=st.lists(st.tuples(st.integers(20, 90), st.integers(20, 90)), min_size=1, max_size=4),
    format_=st.sampled_from(["XYXY", "XYWH", "CXCYWH"]),
    early=st.booleans(),
    fuse=st.sampled_from([True, "exact", False]),
    seed=st.integers(0, 5),
)
def test_all_kinds_at_once(geometry, extra, ending, sizes, format_, early, fuse, seed):
    samples = [make_sample(*size, (seed + row) % 4, seed + row, format_) for row, size in enumerate(sizes)]
    shape = joint_shape("image", "second", "mask", "boxes", "points", "labels", box_format=format_)
    middle = [*extra, *geometry] if early else [*geometry, *extra]
    check(samples, shape, [*middle, *ENDINGS[ending]], fuse)


@given(
    geometry=iou_crops(),
    names=st.permutations(["image", "boxes", "mask", "labels", "points"]).map(lambda it: [*it[:3], "image", "boxes"]),
    num_boxes=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    format_=st.sampled_from(["XYXY", "XYWH", "CXCYWH"]),
    ending=st.sampled_from(sorted(ENDINGS)),
    fuse=st.sampled_from([True, "exact", False]),
    seed=st.integers(0, 1000),
)
def test_crops_by_boxes(geometry, names, num_boxes, format_, ending, fuse, seed):
    samples = [make_sample(70 + 3 * row, 40 + row, num, seed + row, format_) for row, num in enumerate(num_boxes)]
    shape = joint_shape(*dict.fromkeys(names), box_format=format_)
    sanitize = [v2.SanitizeBoundingBoxes(labels_getter="default" if "labels" in names else None)]
    check(samples, shape, [*geometry, *sanitize, *ENDINGS[ending]], fuse)


@pytest.mark.parametrize(
    "names",
    [("image", "mask"), ("mask", "image"), ("boxes", "image", "labels"), ("image", "second"), ("image", "points")],
)
@pytest.mark.parametrize("fuse", [True, False])
def test_pairs_of_kinds(names, fuse):
    samples = [make_sample(60 + row, 50 + 3 * row, row % 3, row) for row in range(5)]
    transforms = [v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(TYPES, scale=True)]
    check(samples, joint_shape(*names), transforms, fuse)


def test_the_whole_of_a_usual_pipeline_is_fused():
    shape = joint_shape("image", "second", "mask", "boxes", "points", "labels")
    transforms = [
        v2.RandomResizedCrop(24),
        v2.RandomHorizontalFlip(),
        v2.SanitizeBoundingBoxes(),
        *ENDINGS["table of types"],
    ]
    plan = plan_sample(shape, v2.Compose(transforms), DecodeOptions())
    assert plan.joint is not None
    assert plan.joint.recipe.is_fused, plan.joint.recipe.explain


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize(
    ("names", "transforms"),
    [
        (("image", "second"), [v2.PILToTensor(), v2.RandomHorizontalFlip(1.0)]),
        (("image", "second"), [v2.ToImage(), v2.ToPureTensor(), v2.CenterCrop(20)]),
        (("image", "mask"), [v2.PILToTensor(), v2.RandomHorizontalFlip(1.0), v2.CenterCrop(20)]),
        (("image", "boxes", "labels"), [v2.ToImage(), v2.ToPureTensor(), v2.CenterCrop(20)]),
        (("image", "boxes", "labels"), [v2.SanitizeBoundingBoxes(), v2.CenterCrop(20), v2.SanitizeBoundingBoxes()]),
        (("image", "mask"), [v2.CenterCrop(30), v2.CenterCrop(20), v2.RandomHorizontalFlip(1.0)]),
    ],
)
def test_what_torchvision_takes_for_an_image_is_moved_and_nothing_else(names, transforms, fuse):
    """Pure tensors hide from torchvision's transforms, all but the first."""
    shape, keys = joint_shape(*names), keys_of(3)
    samples = [make_sample(60 + row, 50 + 3 * row, row, row) for row in range(3)]
    made = run_program(samples, shape, v2.Compose(transforms), keys, fuse=fuse).batch
    for found, sample in zip(made, samples, strict=True):
        expected = v2.Compose(transforms)(torchvision_sample(sample, shape))
        for place, value in expected.items():
            assert_same(found[place], value, place)
