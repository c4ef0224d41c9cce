"""The loaders that are compared, a file each.

Each file writes the photographs in the loader's own format, once, with the loader's own writer, and then delivers
batches. Where a careful user would have to try settings, the file lists them and the best one is measured.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

TITLES: Mapping[str, str] = {
    "headrace_shards": "**headrace**, shards",
    "headrace_folder": "**headrace**, loose files",
    "torch_pillow": "torch DataLoader, Pillow",
    "torch_io": "torch DataLoader, torchvision.io",
    "webdataset_loader": "webdataset",
    "grain_loader": "grain",
    "streaming_loader": "mosaicml-streaming",
    "litdata_loader": "litdata",
    "dali": "DALI on the CPU",
}
"""Files of this folder and their names in tables."""

NAMES = tuple(TITLES)
OURS = ("headrace_shards", "headrace_folder")


class Loader(Protocol):
    """What a file of this folder defines."""

    SETTINGS: tuple[str, ...]
    """Settings to choose from by a short trial."""

    def prepare(self, photographs: Path, folder: Path) -> None:
        """Writes the photographs (a tree of one folder a class) to `folder` in the loader's own format."""

    def batches(self, source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
        """Shuffled batches of 64 images and labels, epoch after epoch, made by two workers.

        `source` is the folder in the loader's own format; the photographs, if it has none.
        """


def open_loader(name: str) -> Loader:
    """The loader of a file of this folder."""
    return cast("Loader", importlib.import_module(f"benchmarks.loaders.{name}"))


def labelled(photographs: Path) -> list[tuple[Path, int]]:
    """Photographs and their class numbers."""
    classes = sorted(path for path in photographs.iterdir() if path.is_dir())
    return [(path, number) for number, folder in enumerate(classes) for path in sorted(folder.glob("*.jpg"))]
