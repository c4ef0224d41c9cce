"""Photographs with masks and boxes for the benchmarks of whole samples, as loose files and as shards."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

import headrace as hr

NUM_CLASSES = 21
SAMPLES_A_SHARD = 500


def prepare(photographs: Path, folder: Path, num: int) -> None:
    """Writes `num` samples, `00000.jpg 00000.seg.png 00000.json`, and the same as shards, unless they are there."""
    done = folder / f"done-{num}"
    if done.exists():
        return
    (folder / "files").mkdir(parents=True, exist_ok=True)
    (folder / "shards").mkdir(exist_ok=True)
    paths = sorted(photographs.rglob("*.jpg"))[:num]
    with hr.ShardWriter(folder / "shards" / "part-%03d.tar", samples_per_shard=SAMPLES_A_SHARD) as writer:
        for number, path in enumerate(paths):
            sample = sample_of(path.read_bytes(), number)
            for name, data in sample.items():
                (folder / "files" / f"{number:05d}.{name}").write_bytes(data)
            writer.write({"__key__": f"{number:05d}", **sample})
    done.touch()


def sample_of(photograph: bytes, seed: int) -> dict[str, bytes]:
    """The fields of one sample."""
    image = Image.open(io.BytesIO(photograph)).convert("RGB")
    file = io.BytesIO()
    Image.fromarray(mask_of(image)).save(file, "PNG")
    objects: list[dict[str, Any]] = [
        {"bbox": box, "label": box_label} for box_label, box in enumerate(boxes_of(image, seed))
    ]
    points = [corner for one in objects for corner in (one["bbox"][:2], one["bbox"][2:])]
    return {
        "jpg": photograph,
        "seg.png": file.getvalue(),
        "json": json.dumps({"objects": objects, "points": points}).encode(),
    }


def mask_of(image: Image.Image) -> Any:
    """Regions of similar brightness, as many kinds as the usual sets of segmentation have classes."""
    grey = np.asarray(image.convert("L").filter(ImageFilter.GaussianBlur(6)))
    return (grey.astype(np.int32) * NUM_CLASSES // 256).astype(np.uint8)


def boxes_of(image: Image.Image, seed: int) -> list[list[float]]:
    """One to eight boxes of a tenth to a half of each side."""
    rng = np.random.default_rng(seed)
    num = int(rng.integers(1, 9))
    sizes = rng.uniform(0.1, 0.5, (num, 2))
    corners = rng.uniform(0, 1, (num, 2)) * (1 - sizes)
    boxes = np.concatenate([corners, corners + sizes], axis=1) * np.tile([image.width, image.height], 2)
    rounded: list[list[float]] = boxes.round(1).tolist()
    return rounded
