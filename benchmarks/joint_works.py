"""The work of the benchmarks of whole samples, for torch's loader and for ours, with the same transforms."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

import headrace as hr

BATCH_SIZE, NUM_WORKERS, SIDE = 64, 2, 224
WORKS = ("segmentation", "detection", "detection_iou", "detection_own", "simclr")
SETTINGS = {"headrace": ("auto",), "torch": ("pillow", "io")}
"""torch decodes through Pillow, or through torchvision.io with transforms of tensors; the faster one counts."""


class OwnCrop(v2.RandomIoUCrop):  # type: ignore[misc]
    """A crop of the user's own, which no loader can know: it runs in Python, with torch's random numbers."""


def crop() -> list[Any]:
    """What segmentation, detection and contrastive training have in common."""
    return [v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip()]


def transform_of(work: str) -> Any:
    """The transform of the whole sample, or of the image of SimCLR's views."""
    if work == "detection":
        return v2.Compose([*crop(), v2.SanitizeBoundingBoxes(), v2.ToImage()])
    if work in {"detection_iou", "detection_own"}:
        resize = v2.Resize((SIDE, SIDE), antialias=True)
        by_boxes = v2.RandomIoUCrop() if work == "detection_iou" else OwnCrop()
        return v2.Compose([by_boxes, v2.RandomHorizontalFlip(), resize, v2.SanitizeBoundingBoxes(), v2.ToImage()])
    return v2.Compose([*crop(), v2.ToImage()])


class Files(Dataset[Any]):
    """The samples as loose files, decoded one by one, as a careful user of torchvision would write it."""

    def __init__(self, folder: Path, work: str, decode: Callable[[bytes], Any]) -> None:
        self.paths = sorted(folder.glob("*.jpg"))
        self.work = work
        self.decode = decode
        self.transform = transform_of(work)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        """Image and mask; image, boxes and labels; or two views."""
        path = self.paths[index]
        image = self.decode(path.read_bytes())
        if self.work == "simclr":
            return self.transform(image), self.transform(image)
        if self.work == "segmentation":
            mask = self.mask(path.with_suffix(".seg.png"))
            return self.transform({"image": image, "mask": mask})
        objects = json.loads(path.with_suffix(".json").read_bytes())["objects"]
        size = tuple(image.shape[-2:]) if isinstance(image, torch.Tensor) else (image.height, image.width)
        boxes = tv_tensors.BoundingBoxes([one["bbox"] for one in objects], format="XYXY", canvas_size=size)
        labels = torch.tensor([one["label"] for one in objects])
        return self.transform({"image": image, "boxes": boxes, "labels": labels})

    def mask(self, path: Path) -> tv_tensors.Mask:
        """The mask by the decoder that images have."""
        if self.decode is by_pillow:
            return tv_tensors.Mask(Image.open(path))
        data = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        return tv_tensors.Mask(decode_image(data, ImageReadMode.UNCHANGED))


def by_pillow(data: bytes) -> Any:
    """A PIL image."""
    return Image.open(io.BytesIO(data)).convert("RGB")


def by_io(data: bytes) -> Any:
    """A tensor, decoded by torchvision."""
    return tv_tensors.Image(decode_image(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.RGB))


def list_collate(samples: Sequence[Any]) -> Any:
    """Images in one tensor, boxes and labels as lists."""
    return {
        "image": torch.stack([sample["image"] for sample in samples]),
        "boxes": [sample["boxes"] for sample in samples],
        "labels": [sample["labels"] for sample in samples],
    }


def torch_batches(folder: Path, work: str, setting: str) -> Iterator[Any]:
    """Shuffled batches, epoch after epoch; workers live on between epochs."""
    loader = DataLoader(
        Files(folder / "files", work, by_pillow if setting == "pillow" else by_io),
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        num_workers=NUM_WORKERS,
        persistent_workers=True,
        prefetch_factor=4,
        collate_fn=list_collate if work.startswith("detection") else None,
    )
    while True:
        yield from loader


def our_batches(folder: Path, work: str, setting: str, *, fuse: bool = True) -> Iterator[Any]:
    """The same from shards."""
    boxes = hr.field("json", get="objects[].bbox", kind="boxes", format="XYXY")
    fields: dict[str, Any] = {
        "segmentation": {"image": "jpg", "mask": "seg.png"},
        "simclr": "jpg",
    }
    detection = {"image": "jpg", "boxes": boxes, "labels": hr.field("json", get="objects[].label", kind="label")}
    transform = transform_of(work)
    dataset = hr.ShardDataset(
        folder / "shards",
        fields=fields.get(work, detection),
        transform=hr.Views((transform, 2)) if work == "simclr" else transform,
    )
    loader: hr.DataLoader[Any] = hr.DataLoader(
        dataset,
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        num_workers=NUM_WORKERS,
        engine=setting,  # type: ignore[arg-type]
        fuse=fuse,
        collate={"boxes": "list", "labels": "list"} if work.startswith("detection") else None,
    )
    while True:
        yield from loader
