"""NVIDIA DALI on the CPU: fused decode and random crop, two threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import rand_augment
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

from benchmarks.loaders import labelled
from benchmarks.works import BATCH_SIZE, MEAN, NUM_WORKERS, SIDE, STD

SETTINGS = ("decoders", "experimental.decoders")


def prepare(photographs: Path, folder: Path) -> None:
    """Loose files are read as they are."""


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch."""
    files = labelled(source)
    decoders = fn.experimental.decoders if setting.startswith("experimental") else fn.decoders
    pipeline = photographs_pipeline(
        [str(path) for path, _ in files],
        [label for _, label in files],
        {"crop": crop, "center": center, "augment": augment}[work],
        decoders,
        batch_size=BATCH_SIZE,
        num_threads=NUM_WORKERS,
        device_id=None,
        prefetch_queue_depth=2,
    )
    loader = DALIGenericIterator(
        [pipeline], ["images", "labels"], reader_name="reader", last_batch_policy=LastBatchPolicy.DROP, auto_reset=True
    )
    while True:
        for (batch,) in loader:
            yield batch["images"], batch["labels"]


@pipeline_def(enable_conditionals=True)
def photographs_pipeline(files: list[str], labels: list[int], work: Callable[..., Any], decoders: Any) -> Any:
    """Reads, decodes and augments."""
    jpegs, numbers = fn.readers.file(files=files, labels=labels, random_shuffle=True, name="reader")
    return work(jpegs, decoders), numbers


def random_resized_crop(jpegs: Any, decoders: Any) -> Any:
    """RandomResizedCrop(224), decoding only the box."""
    images = decoders.image_random_crop(
        jpegs, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
    )
    return fn.resize(images, size=[SIDE, SIDE], interp_type=types.INTERP_LINEAR, antialias=True)


def crop(jpegs: Any, decoders: Any) -> Any:
    """The first work."""
    images = random_resized_crop(jpegs, decoders)
    return channels_first(images, mirror=fn.random.coin_flip())


def center(jpegs: Any, decoders: Any) -> Any:
    """The second work."""
    images = decoders.image(jpegs, device="cpu", output_type=types.RGB)
    images = fn.resize(images, resize_shorter=256, interp_type=types.INTERP_LINEAR, antialias=True)
    return channels_first(images, crop=(SIDE, SIDE))


def augment(jpegs: Any, decoders: Any) -> Any:
    """The third work."""
    images = random_resized_crop(jpegs, decoders)
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    images = rand_augment.rand_augment(images, n=2, m=9)
    factors = {name: fn.random.uniform(range=[0.6, 1.4]) for name in ("brightness", "contrast", "saturation")}
    images = fn.color_twist(images, **factors)
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=[v * 255 for v in MEAN], std=[v * 255 for v in STD]
    )


def channels_first(images: Any, **options: Any) -> Any:
    """uint8 of shape (3, 224, 224)."""
    return fn.crop_mirror_normalize(
        images, dtype=types.UINT8, output_layout="CHW", mean=[0.0] * 3, std=[1.0] * 3, **options
    )
