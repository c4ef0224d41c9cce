"""Fusing changes nothing: the kernel's batches against torchvision's transforms on Pillow's images, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision import transforms as v1
from torchvision.transforms import v2

from headrace import _native
from headrace._base.hashing import sample_keys
from headrace.codecs import decode_image
from headrace.recipes import ImageProgram, compile_transform, draws
from tests.encoded_images import KINDS, allocate, column, encode, photograph, pillow_rgb

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

ENDINGS = {
    "pil": [],
    "v2 uint8": [v2.ToImage()],
    "v2 float32": [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)],
    "v2 bfloat16": [
        v2.PILToTensor(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
        v2.ToDtype(torch.bfloat16),
    ],
    "v2 unscaled": [v2.ToImage(), v2.ToDtype(torch.float32), v2.ToPureTensor()],
    "v1 float32": [v1.ToTensor(), v1.Normalize(MEAN, STD, inplace=True)],
    "v1 float16": [v1.PILToTensor(), v1.ConvertImageDtype(torch.float16)],
    "v1 int16": [v1.PILToTensor(), v1.ConvertImageDtype(torch.int16)],
}

sizes = st.integers(1, 90)
filters = st.sampled_from([v1.InterpolationMode.NEAREST, v1.InterpolationMode.BILINEAR, v1.InterpolationMode.BICUBIC])
modules = st.sampled_from([v1, v2])


@dataclass(frozen=True)
class Drawn:
    """torchvision's transform whose parameters are those that our counters give."""

    transform: Any

    def __call__(self, image: Any, key: Any, op: int) -> Any:
        transform, functional = self.transform, v2.functional
        keys, heights, widths = np.array([key], np.uint64), np.array([image.height]), np.array([image.width])
        if isinstance(transform, (v1.RandomHorizontalFlip, v2.RandomHorizontalFlip)):
            return functional.horizontal_flip(image) if draws.flips(keys, transform.p, op)[0] else image
        if isinstance(transform, (v1.RandomResizedCrop, v2.RandomResizedCrop)):
            box = draws.random_resized_crop_boxes(keys, heights, widths, transform.scale, transform.ratio, op)[0]
            size, interpolation = list(transform.size), transform.interpolation
            return functional.resized_crop(image, *map(int, box), size=size, interpolation=interpolation)
        if isinstance(transform, (v1.RandomCrop, v2.RandomCrop)):
            box = draws.random_crop_boxes(keys, heights, widths, tuple(transform.size), op)[0]
            return functional.crop(image, *map(int, box))
        return transform(image)


@st.composite
def geometries(draw):
    """One resize or crop or both as the kernel knows them, then maybe a flip."""
    library, size, interpolation = draw(modules), (draw(sizes), draw(sizes)), draw(filters)
    resize = draw(st.sampled_from([v1.Resize, v2.Resize]))
    steps = draw(
        st.sampled_from(
            [
                [],
                [library.RandomResizedCrop(size, interpolation=interpolation)],
                [library.RandomResizedCrop(size[0], scale=(0.3, 0.5), ratio=(0.5, 3.0), interpolation=interpolation)],
                [resize(size, interpolation=interpolation)],
                [resize(60, interpolation=interpolation), library.CenterCrop(size)],
                [resize(40, max_size=70, interpolation=interpolation), library.CenterCrop(size)],
                [resize((91, 97), interpolation=interpolation), library.RandomCrop(size)],
                [library.CenterCrop(size)],
            ]
        )
    )
    return [*steps, library.RandomHorizontalFlip(draw(st.sampled_from([0.0, 0.5, 1.0])))]


def tensor_of(image: Any) -> torch.Tensor:
    tensor = image if isinstance(image, torch.Tensor) else v2.functional.pil_to_tensor(image)
    return tensor.as_subclass(torch.Tensor)


def program_of(transform: Any, **options: Any) -> ImageProgram:
    return ImageProgram(compile_transform(transform, **options), _native.Pool(0), decode=decode_image)


@settings(max_examples=120)
@given(
    geometry=geometries(),
    ending=st.sampled_from(sorted(ENDINGS)),
    kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
    size=st.tuples(st.integers(3, 200), st.integers(3, 200)),
    memory_format=st.sampled_from(["contiguous", "channels_last"]),
    seed=st.integers(0, 2**63 - 1),
)
def test_batch_is_what_torchvision_gives(geometry, ending, kinds, size, memory_format, seed):
    transform = v1.Compose([*geometry, *ENDINGS[ending]])
    files = [KINDS[kind](photograph(*size)) for kind in kinds]
    keys = sample_keys(seed, 0, np.arange(len(files)))
    fused = program_of(transform, memory_format=memory_format)
    assert fused.recipe.is_fused
    rows = fused.run(column(files), keys, allocate)
    assert rows.faults == ()
    for file, key, got in zip(files, keys, rows.values, strict=True):
        value = pillow_rgb(file)
        for op, step in enumerate(geometry):
            value = Drawn(step)(value, key, op)
        for step in ENDINGS[ending]:
            value = step(value)
        wanted = tensor_of(value)
        assert got.dtype is wanted.dtype
        assert torch.equal(got, wanted)


@settings(max_examples=60)
@given(
    geometry=geometries(),
    second=geometries(),
    ending=st.sampled_from(sorted(ENDINGS)),
    kind=st.sampled_from(sorted(KINDS)),
    size=st.tuples(st.integers(20, 120), st.integers(20, 120)),
    memory_format=st.sampled_from(["contiguous", "channels_last"]),
    seed=st.integers(0, 2**63 - 1),
)
def test_fused_around_a_python_part_is_unfused(geometry, second, ending, kind, size, memory_format, seed):
    transform = v2.Compose([*geometry, v2.RandomInvert(p=1.0), *second, *ENDINGS[ending]])
    files = [KINDS[kind](photograph(*size))] * 3
    keys = sample_keys(seed, 0, np.arange(3))
    fused = program_of(transform, memory_format=memory_format)
    assert [op.name for op in fused.recipe.middle] == ["RandomInvert"]
    got = fused.run(column(files), keys, allocate, ragged="list")
    wanted = program_of(transform, fuse=False, memory_format=memory_format).run(
        column(files), keys, allocate, ragged="list"
    )
    # where torchvision refuses an image (a resize to no pixels at all), it does so in both
    assert [(fault.row, str(fault.error)) for fault in got.faults] == [(f.row, str(f.error)) for f in wanted.faults]
    live = sorted({0, 1, 2} - {fault.row for fault in got.faults})
    assert all(torch.equal(got.values[row], wanted.values[row]) for row in live)


@pytest.mark.parametrize("library", [v1, v2])
@pytest.mark.parametrize("padding", [3, (1, 2, 3, 4)])
def test_random_crops_that_pad_draw_from_the_counters(library, padding):
    transform = library.RandomCrop(32, padding=padding, fill=7)
    program, image = program_of(transform), photograph(30, 50)
    padded = v2.functional.pad(image, padding if isinstance(padding, int) else list(padding), fill=7)
    keys = sample_keys(3, 1, np.arange(8))
    heights, widths = np.full(8, padded.height), np.full(8, padded.width)
    boxes = draws.random_crop_boxes(keys, heights, widths, (32, 32), op=0)
    for key, box in zip(keys, boxes, strict=True):
        assert program.middle(image, key).tobytes() == v2.functional.crop(padded, *map(int, box)).tobytes()


def test_resampling_of_tensors_is_within_one_level():
    geometry = [v2.ToImage(), v2.RandomResizedCrop(64, antialias=True), v2.RandomHorizontalFlip()]
    files = [KINDS["jpeg 4:2:0"](photograph(150, 170))] * 12
    keys = sample_keys(5, 0, np.arange(12))
    fused, exact, unfused = (program_of(v2.Compose(geometry), fuse=fuse) for fuse in (True, "exact", False))
    assert fused.recipe.is_fused
    assert not exact.recipe.is_fused
    got, same, wanted = (each.run(column(files), keys, allocate).values for each in (fused, exact, unfused))
    assert torch.equal(same, wanted)
    difference = (got.int() - wanted.int()).abs()
    assert difference.max() <= 1
    assert difference.float().mean() < 0.1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_where_asked_for(orientation):
    image = photograph(60, 90)
    exif = image.getexif()
    exif[0x0112] = orientation
    data = encode(image, "JPEG", quality=90, exif=exif)
    for transform in (None, v2.RandomResizedCrop(32), v2.Resize(40)):
        got, wanted = (
            program_of(transform, fuse=fuse, exif="apply").run(column([data]), np.array([9], np.uint64), allocate)
            for fuse in (True, False)
        )
        assert torch.equal(got.values, wanted.values)
