"""The images that `try` and `bench` read: a folder as ImageFolder sees it, or the image field of shards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cli.stock import StockShards, image_field
from headrace.errors import OptionError, SourceError

IMAGE_FIELDS = ("jpg", "jpeg", "png", "webp", "bmp", "ppm", "tif", "tiff")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images under two faces."""

    ours: Any
    """What `headrace.DataLoader` gets."""
    stock: Any
    """What a stock `torch.utils.data.DataLoader` gets; the same samples."""
    paste: tuple[str, ...]
    """The lines that put our loader over them into somebody's code."""


def need_torchvision() -> None:
    """Raises OptionError where torchvision is missing."""
    try:
        import torchvision  # noqa: F401 - asked for, not used
    except ImportError as error:
        raise OptionError("torchvision is not installed", remedy="pip install torchvision") from error


def training_transform(size_px: int) -> Any:
    """What most people train with: random crop, flip, float, normalised."""
    import torch
    from torchvision.transforms import v2

    return v2.Compose(
        [
            v2.RandomResizedCrop(size_px),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


def open_images(source: str, size_px: int, batch_size: int) -> AbstractContextManager[Images]:
    """The images of a folder or of shards, for as long as the context lasts.

    Raises:
        OptionError: torchvision is missing.
        SourceError: No images there.
    """
    need_torchvision()
    if not Path(source).exists() and not any(sign in source for sign in "*?{[:"):
        raise SourceError("there is no such file or folder", path=source, accepted="a folder of images, or shards")
    if is_shards(source):
        return shard_images(source, size_px, batch_size)
    return folder_images(source, size_px, batch_size)


def is_shards(source: str) -> bool:
    """Whether a source names shards, a folder of them included."""
    if not Path(source).is_dir():
        return True
    with os.scandir(source) as entries:
        return any(".tar" in entry.name for entry in entries)


@contextmanager
def folder_images(folder: str, size_px: int, batch_size: int) -> Iterator[Images]:
    """A tree of class folders, or a folder of images, which then are all of one class."""
    from torchvision.datasets import ImageFolder

    with class_tree(folder) as root:
        try:
            dataset = ImageFolder(root, transform=training_transform(size_px))
        except FileNotFoundError as error:
            raise SourceError(
                "no images in the folder",
                path=folder,
                accepted="FOLDER/CLASS/IMAGE, a folder of images, or shards",
            ) from error
        load = f"loader = hr.DataLoader(dataset, batch_size={batch_size}, shuffle=True)"
        paste: tuple[str, ...] = (
            "from torchvision.datasets import ImageFolder",
            "import headrace as hr",
            f'dataset = ImageFolder("{folder}", transform)  # as you have it',
            load,
        )
        if root != folder:
            shards = f"{folder.rstrip('/')}-shards"
            dataset_line = f'dataset = hr.ShardDataset("{shards}", fields="jpg", transform=transform)'
            paste = ("import headrace as hr", f"{dataset_line}  # after: headrace pack {folder} {shards}", load)
        yield Images(ours=dataset, stock=dataset, paste=paste)


@contextmanager
def class_tree(folder: str) -> Iterator[str]:
    """The folder if it holds folders; otherwise one that holds nothing but a link to it, as its only class."""
    with os.scandir(folder) as entries:
        has_folders = any(entry.is_dir() and not entry.name.startswith(".") for entry in entries)
    if has_folders:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="headrace-") as root:
        Path(root, "images").symlink_to(Path(folder).absolute())
        yield root


@contextmanager
def shard_images(source: str, size_px: int, batch_size: int) -> Iterator[Images]:
    """The image field of shards."""
    from headrace.datasets.shard_dataset import ShardDataset

    field = image_field(source, IMAGE_FIELDS)
    if field is None:
        raise SourceError("the shards hold no images", got=source, accepted=f"a field {', '.join(IMAGE_FIELDS)}")
    transform = training_transform(size_px)
    dataset = ShardDataset(source, fields=(field,), transform=transform)
    fields = f'("{field}", "cls")' if "cls" in dataset.index.fields else f'"{field}"'
    paste = (
        "import headrace as hr",
        f'dataset = hr.ShardDataset("{source}", fields={fields}, transform=transform)',
        f"loader = hr.DataLoader(dataset, batch_size={batch_size}, shuffle=True)",
    )
    with closing(StockShards(source, field, transform)) as stock:
        yield Images(ours=dataset, stock=stock, paste=paste)
