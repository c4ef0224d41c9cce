"""Packs photographs and a COCO annotation file into shards: a JSON field beside each photograph holds its objects.

Usage: pack_coco.py PHOTOGRAPHS instances_train2017.json data/train

PHOTOGRAPHS is the folder in which the `file_name`s of the annotations lie.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import headrace as hr


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("destination", type=Path, help="folder for the shards; made if missing")
    parser.add_argument("--samples-per-shard", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="of the order of the photographs in the shards")
    return parser.parse_args(arguments)


def objects_by_image(coco: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """What is on each photograph: class name and `[x, y, width, height]`. Crowds are no objects to train on."""
    names = {category["id"]: category["name"] for category in coco["categories"]}
    found = defaultdict(list)
    for one in coco["annotations"]:
        if not one.get("iscrowd"):
            found[one["image_id"]].append({"label": names[one["category_id"]], "bbox": one["bbox"]})
    return found


def pack(args: argparse.Namespace) -> None:
    """Photographs go in as the bytes that they are, in random order."""
    coco = json.loads(args.annotations.read_text())
    objects = objects_by_image(coco)
    class_names = [category["name"] for category in sorted(coco["categories"], key=lambda category: category["id"])]
    images = sorted(coco["images"], key=lambda image: image["id"])
    random.Random(args.seed).shuffle(images)
    with hr.ShardWriter(
        args.destination / "train-%06d.tar",
        samples_per_shard=args.samples_per_shard,
        extra={"class_names": class_names},
    ) as writer:
        for image in images:
            photograph = args.photographs / image["file_name"]
            sample = {"__key__": f"{image['id']:012}", photograph.suffix[1:].lower(): photograph}
            writer.write(sample | {"json": {"objects": objects.get(image["id"], [])}})


if __name__ == "__main__":
    pack(parse_arguments())
