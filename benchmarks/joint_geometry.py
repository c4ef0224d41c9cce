"""Images, masks, boxes and points of many photographs: fused and unfused batches against torchvision's functionals.

Usage: `python -m benchmarks.joint_geometry --photographs DIR [--num N]`. Counts the samples of which anything differs:
images and masks in any bit, boxes and points by more than 1e-4.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

import headrace as hr
from benchmarks import data, joint_data, results
from headrace._base.hashing import sample_keys
from headrace.recipes import draws
from headrace.recipes.iou_crop import centers_within
from headrace.recipes.iou_crop_reference import iou_window
from headrace.recipes.recognise import iou_crop_rules

CHAINS: Mapping[str, Sequence[Any]] = {
    "resized crop": (v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()),
    "bicubic resized crop": (v2.RandomResizedCrop((96, 160), scale=(0.2, 0.9), interpolation=3, antialias=True),),
    "resize and crop": (v2.Resize(256, antialias=True), v2.CenterCrop(224)),
    "random crop": (v2.Resize((300, 280), antialias=True), v2.RandomCrop(224), v2.RandomHorizontalFlip()),
    "crop by boxes": (v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.Resize((224, 224), antialias=True)),
    "resize": (v2.Resize((123, 217), antialias=True), v2.RandomHorizontalFlip(0.3)),
}
BATCH_SIZE, CLOSE = 50, 1e-4


def samples_of(files: Path) -> list[dict[str, Any]]:
    """The samples as torchvision's functionals get them, decoded by Pillow."""
    found = []
    for path in sorted(files.glob("*.jpg")):
        image = Image.open(path).convert("RGB")
        mask = tv_tensors.Mask(torch.from_numpy(np.array(Image.open(path.with_suffix(".seg.png")))))
        held, size = json.loads(path.with_suffix(".json").read_bytes()), (image.height, image.width)
        boxes = tv_tensors.BoundingBoxes([one["bbox"] for one in held["objects"]], format="XYXY", canvas_size=size)
        points = tv_tensors.KeyPoints(held["points"], canvas_size=size)
        found.append({"image": image, "mask": mask, "boxes": boxes, "points": points})
    return found


def expected(chain: Sequence[Any], sample: dict[str, Any], key: int) -> dict[str, Any]:
    """Torchvision's functionals with the parameters that our counters give for this key."""
    keys = np.array([key], dtype=np.uint64)
    for op, transform in enumerate(chain):
        height, width = functional.get_size(sample["image"])
        sizes = np.array([height], np.int32), np.array([width], np.int32)
        if isinstance(transform, v2.RandomResizedCrop):
            box = draws.random_resized_crop_boxes(keys, *sizes, transform.scale, transform.ratio, op)[0].tolist()
            options = {"size": list(transform.size), "interpolation": transform.interpolation}
            sample = {name: functional.resized_crop(leaf, *box, **options) for name, leaf in sample.items()}
        elif isinstance(transform, v2.RandomIoUCrop):
            sample = cropped_by_boxes(transform, sample, key, op)
        elif isinstance(transform, v2.RandomCrop):
            box = draws.random_crop_boxes(keys, *sizes, transform.size, op)[0].tolist()
            sample = {name: functional.crop(leaf, *box) for name, leaf in sample.items()}
        elif isinstance(transform, v2.RandomHorizontalFlip):
            if draws.flips(keys, transform.p, op)[0]:
                sample = {name: functional.horizontal_flip(leaf) for name, leaf in sample.items()}
        else:
            sample = transform(sample)
    return sample


def cropped_by_boxes(transform: Any, sample: dict[str, Any], key: int, op: int) -> dict[str, Any]:
    """A sample as torchvision crops it with the window that the reference in plain Python finds."""
    corners = sample["boxes"].as_subclass(torch.Tensor)  # the samples have XYXY
    window = iou_window(iou_crop_rules(transform, op), key, functional.get_size(sample["image"]), corners.numpy())
    if window is None:
        return sample
    names = ("top", "left", "height", "width")
    params = {**dict(zip(names, window, strict=True)), "is_within_crop_area": centers_within(corners, window)}
    return {name: transform.transform(leaf, params) for name, leaf in sample.items()}


def made(shards: Path, chain: Sequence[Any], *, fuse: bool) -> Iterator[dict[str, Any]]:
    """The samples of one epoch of the loader, in order."""
    rules: dict[str | int, Any] = {"boxes": "list", "points": "list"}
    loader: hr.DataLoader[Any] = hr.DataLoader(
        open_dataset(shards, v2.Compose([*chain, v2.ToImage()])), batch_size=BATCH_SIZE, fuse=fuse, collate=rules
    )
    for batch in loader:
        for row in range(len(batch["image"])):
            yield {name: batch[name][row] for name in ("image", "mask", "boxes", "points")}
    loader.close()


def open_dataset(shards: Path, transform: Any) -> Any:
    """Images, masks, boxes, and their corners as points."""
    path = "objects[].bbox"
    fields: dict[str, Any] = {
        "image": "jpg",
        "mask": "seg.png",
        "boxes": hr.field("json", get=path, kind="boxes", format="XYXY"),
        "points": hr.field("json", get="points", kind="keypoints"),
    }
    return hr.ShardDataset(shards, fields=fields, transform=transform)


def differs(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether anything of two samples differs."""
    image = torch.equal(found["image"], functional.pil_to_tensor(wanted["image"]))
    mask = torch.equal(found["mask"], wanted["mask"].as_subclass(torch.Tensor))
    close = [
        found[name].shape == wanted[name].shape
        and torch.allclose(found[name], wanted[name].as_subclass(torch.Tensor), rtol=0, atol=CLOSE)
        for name in ("boxes", "points")
    ]
    return not (image and mask and all(close))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    data.add_arguments(parser)
    parser.add_argument("--num", type=int, default=500, help="photographs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        joint_data.prepare(data.photographs(args), folder, args.num)
        samples = samples_of(folder / "files")
        keys = sample_keys(0, 0, np.arange(len(samples))).tolist()
        mismatches = {
            f"{name}, {'fused' if fuse else 'unfused'}": sum(
                differs(found, expected(chain, sample, key))
                for found, sample, key in zip(made(folder / "shards", chain, fuse=fuse), samples, keys, strict=True)
            )
            for name, chain in CHAINS.items()
            for fuse in (True, False)
        }
    results.save("joint_geometry", {"photographs": len(samples), "mismatches": mismatches}, quick=args.quick)
    if any(mismatches.values()):
        raise SystemExit("some samples differ")


if __name__ == "__main__":
    main()
