"""Whole samples (images, masks, boxes, points) in memory, and torchvision's functionals on them with our draws."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils._pytree import tree_map
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

import headrace as hr
from headrace._base.hashing import sample_keys
from headrace.contracts import ByteColumn, SampleName
from headrace.datasets.context import BatchContext
from headrace.datasets.fields import SampleShape, parse_fields
from headrace.datasets.plan import DecodeOptions, plan_sample
from headrace.datasets.policy import Policy
from headrace.datasets.program import SampleProgram
from headrace.datasets.unrecorded import Unrecorded
from headrace.engine import Pool
from headrace.recipes import draws
from headrace.recipes.iou_crop_reference import iou_window
from headrace.recipes.randomness import sample_randomness
from headrace.recipes.recognise import iou_crop_rules
from tests.encoded_images import allocate, column, encode, photograph

SIZED = (v1.RandomResizedCrop, v2.RandomResizedCrop, v1.RandomCrop, v2.RandomCrop)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One sample as its files hold it."""

    image: Image.Image
    mask: np.ndarray
    boxes: list[list[float]]
    points: list[list[float]]
    files: dict[str, bytes] = field(default_factory=dict)


def make_sample(height: int, width: int, num_boxes: int, seed: int, box_format: str = "XYXY") -> Sample:
    """A photograph with a mask, boxes (some reaching outside) and points of its size."""
    rng = np.random.default_rng(seed)
    image = photograph(height, width)
    mask = rng.integers(0, 256, (height, width), dtype=np.uint8)
    corners = np.sort(rng.uniform(-0.2, 1.2, (num_boxes, 2, 2)), axis=1) * [width, height]
    boxes = corners.reshape(-1, 4)
    if box_format != "XYXY":
        boxes = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    if box_format == "CXCYWH":
        boxes[:, :2] += boxes[:, 2:] / 2
    boxes = boxes.round(2).tolist()
    points = (rng.uniform(0, 1, (3, 2)) * [width, height]).round(2).tolist()
    return Sample(
        image=image,
        mask=mask,
        boxes=boxes,
        points=points,
        files={
            "jpg": encode(image, "JPEG", quality=90),
            "depth.png": encode(image.transpose(Image.Transpose.FLIP_TOP_BOTTOM), "PNG"),
            "seg.png": encode(Image.fromarray(mask), "PNG"),
            "boxes.json": json.dumps(boxes).encode(),
            "points.json": json.dumps(points).encode(),
            "labels.npy": npy(np.arange(num_boxes) + 10 * seed),
        },
    )


def npy(array: np.ndarray) -> bytes:
    """The array as a file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def joint_shape(*names: str, box_format: str = "XYXY") -> SampleShape:
    """A dict sample of these leaves."""
    fields = {
        "image": hr.field("jpg"),
        "second": hr.field("depth.png", kind="image"),
        "mask": hr.field("seg.png"),
        "boxes": hr.field("boxes.json", kind="boxes", format=box_format),
        "points": hr.field("points.json", kind="keypoints"),
        "labels": hr.field("labels.npy", kind="value"),
    }
    return parse_fields({name: fields[name] for name in names}, ())


def torchvision_sample(sample: Sample, shape: SampleShape) -> Any:
    """What torchvision's transforms get of a sample."""
    height, width = sample.image.height, sample.image.width
    leaves = {
        "image": lambda: Image.open(io.BytesIO(sample.files["jpg"])).convert("RGB"),
        "second": lambda: Image.open(io.BytesIO(sample.files["depth.png"])).convert("RGB"),
        "mask": lambda: tv_tensors.Mask(torch.from_numpy(sample.mask.copy())),
        "boxes": lambda: tv_tensors.BoundingBoxes(
            torch.tensor(sample.boxes, dtype=torch.float32).reshape(-1, 4),
            format=next(entry.field.format for entry in shape.entries if entry.name == "boxes"),
            canvas_size=(height, width),
        ),
        "points": lambda: tv_tensors.KeyPoints(torch.tensor(sample.points), canvas_size=(height, width)),
        "labels": lambda: torch.from_numpy(np.load(io.BytesIO(sample.files["labels.npy"]))),
    }
    return shape.build([leaves[entry.name]() for entry in shape.entries])


def apply_drawn(transforms: Sequence[Any], sample: Any, key: Any) -> Any:
    """torchvision's functionals with the parameters that our counters give, one op after the other."""
    for op, transform in enumerate(transforms):
        sample = apply_one(transform, sample, key, op)
    return sample


def apply_one(transform: Any, sample: Any, key: Any, op: int) -> Any:
    keys = np.array([key], np.uint64)
    if isinstance(transform, v2.RandomHorizontalFlip):
        mirrored = bool(draws.flips(keys, transform.p, op)[0])
        return tree_map(lambda leaf: functional.horizontal_flip(leaf) if mirrored and moves(leaf) else leaf, sample)
    if isinstance(transform, v2.RandomResizedCrop):
        height, width = size_of(sample)
        box = draws.random_resized_crop_boxes(keys, *arrays(height, width), transform.scale, transform.ratio, op)[0]
        size, filter_ = list(transform.size), transform.interpolation
        return tree_map(
            lambda leaf: (
                functional.resized_crop(leaf, *map(int, box), size=size, interpolation=filter_) if moves(leaf) else leaf
            ),
            sample,
        )
    if isinstance(transform, v2.RandomIoUCrop):
        return iou_cropped(transform, sample, int(key), op)
    if isinstance(transform, v2.RandomCrop):
        height, width = size_of(sample)
        if (height, width) == tuple(transform.size):
            return sample
        box = draws.random_crop_boxes(keys, *arrays(height, width), tuple(transform.size), op)[0]
        return tree_map(lambda leaf: functional.crop(leaf, *map(int, box)) if moves(leaf) else leaf, sample)
    with sample_randomness(int(key)):
        return transform(sample)


def iou_cropped(transform: v2.RandomIoUCrop, sample: Any, key: int, op: int) -> Any:
    """The sample cropped by torchvision with the parameters that our reference gives."""
    boxes = sample["boxes"]
    corners = functional.convert_bounding_box_format(
        boxes.as_subclass(torch.Tensor), boxes.format, tv_tensors.BoundingBoxFormat.XYXY
    )
    window = iou_window(iou_crop_rules(transform, op), key, size_of(sample), corners.numpy())
    if window is None:
        return sample
    top, left, height, width = window
    x, y = (corners[:, 0] + corners[:, 2]) / 2, (corners[:, 1] + corners[:, 3]) / 2
    within = (left < x) & (x < left + width) & (top < y) & (y < top + height)
    params = {"top": top, "left": left, "height": height, "width": width, "is_within_crop_area": within}
    return tree_map(lambda leaf: transform.transform(leaf, params) if moves(leaf) else leaf, sample)


def arrays(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([height]), np.array([width])


def moves(leaf: Any) -> bool:
    """Whether geometry moves a leaf of the test samples."""
    return isinstance(leaf, (Image.Image, tv_tensors.TVTensor))


def size_of(sample: Any) -> tuple[int, int]:
    return v2.query_size([leaf for leaf in sample.values() if moves(leaf)])


def plain(value: Any) -> torch.Tensor:
    """A leaf as it is delivered."""
    tensor = functional.pil_to_tensor(value) if isinstance(value, Image.Image) else value
    return tensor.as_subclass(torch.Tensor)


def run_program(
    samples: Sequence[Sample],
    shape: SampleShape,
    transform: Any,
    keys: np.ndarray,
    *,
    policy: Policy | None = None,
    **options: Any,
) -> Any:
    """What the program makes of a batch: a list of samples unless the policy says otherwise; and what is valid."""
    columns = {entry.name: one_column(samples, entry.extensions[0]) for entry in shape.entries}
    names = [SampleName(shard="a.tar", key=f"k{row}") for row in range(len(samples))]
    context = BatchContext(
        keys=keys,
        allocate=allocate,
        names=lambda: names,
        recorder=Unrecorded(),
        policy=policy or Policy(collate_fn=list),
    )
    pool = Pool(0)
    try:
        plan = plan_sample(shape, transform, DecodeOptions(**options))
        return SampleProgram(plan, pool, Unrecorded()).run(columns, context)
    finally:
        pool.close()


def one_column(samples: Sequence[Sample], name: str) -> ByteColumn:
    return column([sample.files.get(name) for sample in samples])


def keys_of(num: int, seed: int = 0) -> np.ndarray:
    return sample_keys(seed, 1, np.arange(num))


def assert_same(found: Any, expected: Any, place: str) -> None:
    """Images, masks and labels to the bit, boxes and points to 1e-4."""
    expected = plain(expected)
    assert found.shape == expected.shape, (place, found.shape, expected.shape)
    assert found.dtype == expected.dtype, (place, found.dtype, expected.dtype)
    if place in ("boxes", "points"):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    else:
        assert torch.equal(found, expected), place
