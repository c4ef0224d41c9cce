"""Photographs with captions, a tokenizer and padding: torch's loader with torchvision beside ours.

Both read the same list of loose files, crop, flip and normalise, and call the same tokenizer of Hugging Face once a
batch. torch gets the number of workers and the prefetch that are best for it, each loader a process of its own.

Usage: `python -m benchmarks.image_text [--photographs DIR] [--quick]`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tokenizers
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision.transforms import v2

import headrace as hr
from benchmarks import data, results
from benchmarks.measure import cpu_s

BATCH_SIZE, SIDE, LONGEST = 64, 224, 77
WORDS = (
    "a", "the", "of", "in", "on", "with", "small", "large", "red", "green", "blue", "old", "young", "dog", "cat",
    "house", "tree", "street", "sky", "water", "two", "three",
)  # fmt: skip
NUM_TIMED, NUM_TRIED, NUM_ROUNDS = 6000, 1500, 5
QUICK_TIMED, QUICK_ROUNDS = 600, 1
TORCH_SETTINGS = tuple(f"{workers}x{prefetch}" for workers in (1, 2, 4) for prefetch in (2, 4))
MEAN, STD = (0.481, 0.458, 0.408), (0.269, 0.261, 0.276)


def caption(number: int) -> str:
    """Between six and twenty words, the same for a number every time."""
    return " ".join(WORDS[(number * 31 + place * (7 + number % 11)) % len(WORDS)] for place in range(6 + number % 15))


def prepare(photographs: Path, folder: Path) -> None:
    """The list, and a tokenizer that was trained on its captions."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(photographs.glob("*/*.jpg"))
    with (folder / "list.csv").open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["image", "caption"])
        writer.writerows((path.absolute(), caption(number)) for number, path in enumerate(paths))
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))  # noqa: S106 - no password
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    made.train_from_iterator(map(caption, range(len(paths))), trainer)
    made.save(str(folder / "tokenizer.json"))


class Tokenize:
    """Captions as ids of shape (captions, longest)."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.enable_padding(pad_id=0)

    def __call__(self, captions: list[str]) -> torch.Tensor:
        """The ids."""
        return torch.tensor([encoding.ids for encoding in self.tokenizer.encode_batch(list(captions))])


def transform() -> v2.Compose:
    """What is done to a photograph."""
    return v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


class Listed(Dataset[Any]):
    """The same list for torch's loader."""

    def __init__(self, folder: Path) -> None:
        with (folder / "list.csv").open(newline="") as text:
            self.rows = [(row["image"], row["caption"]) for row in csv.DictReader(text)]
        self.transform = transform()

    def __len__(self) -> int:
        """Photographs."""
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, str]:
        """A photograph and its caption."""
        path, text = self.rows[index]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), text


class Collate:
    """Images stacked, captions tokenised."""

    def __init__(self, folder: Path) -> None:
        self.tokenize = Tokenize(folder)

    def __call__(self, samples: list[tuple[torch.Tensor, str]]) -> list[Any]:
        """A batch."""
        images, captions = zip(*samples, strict=True)
        return [default_collate(list(images)), self.tokenize(list(captions))]


def torch_loader(folder: Path, setting: str) -> Any:
    """Torch's loader with so many workers and so much prefetch."""
    workers, prefetch = map(int, setting.split("x"))
    return DataLoader(
        Listed(folder), BATCH_SIZE, shuffle=True, drop_last=True, num_workers=workers, prefetch_factor=prefetch,
        persistent_workers=True, collate_fn=Collate(folder),
    )  # fmt: skip


def our_loader(folder: Path) -> Any:
    """Ours with automatic settings."""
    dataset = hr.FileDataset(
        folder / "list.csv", labels="", fields=("image", "caption"), transform={"image": transform()}
    )
    return hr.DataLoader(dataset, BATCH_SIZE, shuffle=True, drop_last=True, collate={"caption": Tokenize(folder)})


def forever(loader: Any) -> Iterator[Any]:
    """Epoch after epoch."""
    return itertools.chain.from_iterable(itertools.repeat(loader))


def measure(loader: str, setting: str, folder: Path, num: int) -> dict[str, float]:
    """Takes batches until `num` samples have come after the first batch."""
    batches = forever(our_loader(folder) if loader == "headrace" else torch_loader(folder, setting))
    batch = next(batches)
    check(batch)
    counted, cpu_before, began = 0, cpu_s(), time.perf_counter()
    while counted < num:
        batch = next(batches)
        counted += BATCH_SIZE
    elapsed_s = time.perf_counter() - began
    check(batch)
    return {"samples_per_s": counted / elapsed_s, "cpu_ms_per_sample": (cpu_s() - cpu_before) / counted * 1e3}


def check(batch: Any) -> None:
    """A batch is what it should be."""
    images, ids = batch
    if tuple(images.shape) != (BATCH_SIZE, 3, SIDE, SIDE) or images.dtype is not torch.float32:
        raise SystemExit(f"images are {tuple(images.shape)} {images.dtype}")
    if ids.shape[0] != BATCH_SIZE or not 6 <= ids.shape[1] <= LONGEST or not bool(ids.any(1).all()):
        raise SystemExit(f"ids are {tuple(ids.shape)}")


def run(loader: str, setting: str, folder: Path, num: int) -> dict[str, float]:
    """One loader in a process of its own."""
    arguments = ["--one", loader, setting, "--home", str(folder), "--timed", str(num)]
    found: dict[str, float] = json.loads(data.run_module("benchmarks.image_text", *arguments).splitlines()[-1])
    return found


def compare(folder: Path, num: int, num_tried: int, num_rounds: int) -> dict[str, Any]:
    """Torch at its best and ours by turns; the median of the ratios within a round."""
    tried = {setting: run("torch", setting, folder, num_tried)["samples_per_s"] for setting in TORCH_SETTINGS}
    best = max(tried, key=lambda setting: tried[setting])
    rounds = []
    for number in range(num_rounds):
        order = ("torch", "headrace") if number % 2 else ("headrace", "torch")
        rounds.append({loader: run(loader, best, folder, num) for loader in order})
    return {
        "torch_setting": best,
        "torch_tried": tried,
        "rounds": rounds,
        "times_torch": statistics.median(
            one["headrace"]["samples_per_s"] / one["torch"]["samples_per_s"] for one in rounds
        ),
        "times_torch_by_cpu": statistics.median(
            one["torch"]["cpu_ms_per_sample"] / one["headrace"]["cpu_ms_per_sample"] for one in rounds
        ),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    parser.add_argument("--one", nargs=2, metavar=("LOADER", "SETTING"), help="measures one loader and prints")
    parser.add_argument("--timed", type=int, default=NUM_TIMED, help="samples that are timed")
    args = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # both have workers of their own
    if args.one is not None:
        loader, setting = args.one
        print(json.dumps(measure(loader, setting, args.home, args.timed)), flush=True)
        return
    folder = args.home / "image_text"
    prepare(data.photographs(args), folder)
    timed, rounds = (QUICK_TIMED, QUICK_ROUNDS) if args.quick else (args.timed, NUM_ROUNDS)
    figures = compare(folder, timed, min(timed, NUM_TRIED), rounds)
    results.save("image_text", figures, quick=args.quick)


if __name__ == "__main__":
    main()
