"""Map-style datasets as people write them, each with what both loaders are told about it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Subset
from torchvision.datasets import ImageFolder

from benchmarks.works import pillow_transform

NUM_ROWS, ROW_WIDTH, NUM_CLASSES = 1_000_000, 16, 10
NUM_TEXTS, FEWEST_WORDS, MOST_WORDS, NUM_WORDS = 20_000, 16, 256, 30_000
NUM_FILES, FILE_SHAPE, NUM_READS = 24, (2, 1024, 1024), 192
NUM_SLEEPERS, LEAST_SLEEP_S, MOST_SLEEP_S = 480, 0.001, 0.2
NUM_IMAGES = {"crop": 1920, "augment": 640}
QUICK_PART = 8
"""How much shorter an epoch is in a quick run."""


class Places(NamedTuple):
    """Where files lie."""

    photographs: Path
    home: Path


class Rows(Dataset[Any]):
    """Small rows of arrays in memory, and a label each."""

    def __init__(self, num_rows: int) -> None:
        dice = np.random.default_rng(0)
        self.rows = dice.random((num_rows, ROW_WIDTH), dtype=np.float32)
        self.labels = dice.integers(0, NUM_CLASSES, num_rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index], self.labels[index]


class RowsAtOnce(Rows):
    """The same, a batch at a time."""

    def __getitems__(self, indexes: list[int]) -> list[Any]:
        """The samples of a batch."""
        return list(zip(self.rows[indexes], self.labels[indexes], strict=True))


class Texts(Dataset[Any]):
    """Texts of many lengths, whose words are looked up one by one."""

    def __init__(self, num_texts: int) -> None:
        dice = random.Random(0)
        words = [f"word{number}" for number in range(NUM_WORDS)]
        self.numbers = {word: number for number, word in enumerate(words)}
        self.texts = [" ".join(dice.choices(words, k=dice.randint(FEWEST_WORDS, MOST_WORDS))) for _ in range(num_texts)]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Any:
        words = self.texts[index].split()
        return torch.tensor([self.numbers[word] for word in words]), len(words)


class Arrays(Dataset[Any]):
    """Files with arrays of 8 MB, in the page cache after the first epoch."""

    def __init__(self, folder: Path, num_reads: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.files = [folder / f"{number}.npy" for number in range(NUM_FILES)]
        self.num_reads = num_reads
        for number, file in enumerate(self.files):
            if not file.exists():
                np.save(file, np.random.default_rng(number).random(FILE_SHAPE, dtype=np.float32))

    def __len__(self) -> int:
        return self.num_reads

    def __getitem__(self, index: int) -> Any:
        return np.load(self.files[index % NUM_FILES])


class Sleepers(Dataset[Any]):
    """Samples that come after 1 to 200 ms, as from a server: the same time for the same sample."""

    def __init__(self, num_samples: int) -> None:
        self.sleeps_s = np.random.default_rng(0).uniform(LEAST_SLEEP_S, MOST_SLEEP_S, num_samples).tolist()

    def __len__(self) -> int:
        return len(self.sleeps_s)

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.sleeps_s[index])
        return index


def pad_texts(samples: Sequence[Any]) -> Any:
    """What people give to torch's loader."""
    return pad_sequence([words for words, _ in samples], batch_first=True), torch.tensor([num for _, num in samples])


def photographs(work: str) -> Callable[[Places, int], Dataset[Any]]:
    """A folder tree of photographs with Pillow transforms, as many as an epoch of this work shall have."""

    def make(places: Places, part: int) -> Dataset[Any]:
        whole = ImageFolder(str(places.photographs), pillow_transform(work))
        chosen = np.random.default_rng(0).permutation(len(whole))[: NUM_IMAGES[work] // part]
        return Subset(whole, chosen.tolist())

    return make


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSet:
    """A dataset, and how it is loaded."""

    title: str
    make: Callable[[Places, int], Dataset[Any]]
    """Makes it; the second argument divides its length."""
    batch_size: int
    asked: float
    """How many times as fast as torch's loader, at its best, ours is meant to be at least."""
    asked_of_defaults: float | None = None
    """The same for torch's loader without settings."""
    ours: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of our loader beside the batch size."""
    theirs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of torch's."""


SETS: Mapping[str, MapSet] = {
    "image_folder": MapSet(
        title="ImageFolder, RandomResizedCrop and flip by Pillow",
        make=photographs("crop"),
        batch_size=64,
        asked=1.0,
        asked_of_defaults=1.8,
    ),
    "small_rows": MapSet(
        title="1,000,000 rows of an array in memory",
        make=lambda _, part: Rows(NUM_ROWS // part),
        batch_size=256,
        asked=3.0,
        ours={"seed_workers": False},
    ),
    "small_rows_at_once": MapSet(
        title="the same with `__getitems__`",
        make=lambda _, part: RowsAtOnce(NUM_ROWS // part),
        batch_size=256,
        asked=1.0,
        ours={"seed_workers": False},
    ),
    "texts": MapSet(
        title="texts of 16 to 256 words, padded",
        make=lambda _, part: Texts(NUM_TEXTS // part),
        batch_size=64,
        asked=1.0,
        ours={"collate": {0: "pad"}},
        theirs={"collate_fn": pad_texts},
    ),
    "arrays": MapSet(
        title="arrays of 8 MB, read from files",
        make=lambda places, part: Arrays(places.home / "arrays", NUM_READS // part),
        batch_size=4,
        asked=2.0,
    ),
    "sleepers": MapSet(
        title="samples that come after 1 to 200 ms",
        make=lambda _, part: Sleepers(NUM_SLEEPERS // part),
        batch_size=8,
        asked=1.5,
    ),
    "augment": MapSet(
        title="ImageFolder, RandAugment, ColorJitter and Normalize too, by Pillow",
        make=photographs("augment"),
        batch_size=64,
        asked=1.0,
    ),
}
