"""Real photographs made small, whose pixels tell how they are marked: red ones by masks, painted ones by boxes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

LONGER_PX = 160
DARK, LIGHT = 96, 160
"""Red below and above which a pixel is of class 0 and 1 in a mask; what lies between is of no class."""
IGNORED = 255
COLOURS = {"green": (0, 255, 0), "magenta": (255, 0, 255)}
"""Classes of boxes, and the colour that all of such a box has."""


def small(photographs: Path, num: int) -> Iterator[tuple[str, Image.Image]]:
    """The first photographs of all classes in turn, by name."""
    paths = sorted(photographs.rglob("*.jpg"), key=lambda path: path.name)
    for path in paths[:num]:
        with Image.open(path) as image:
            image.thumbnail((LONGER_PX, LONGER_PX))
            yield path.stem, image.convert("RGB")


def red_mask(image: Image.Image) -> Image.Image:
    """A palette image, as PASCAL VOC's masks are: 1 where the photograph has much red, 0 where it has little."""
    red = np.asarray(image)[..., 0]
    values = np.full(red.shape, IGNORED, np.uint8)
    values[red < DARK], values[red > LIGHT] = 0, 1
    mask = Image.fromarray(values)
    mask.putpalette([colour for number in range(256) for colour in (number * 37 % 256, number * 91 % 256, 7)])
    return mask


def write_masked(photographs: Path, folder: Path, num: int) -> None:
    """Sibling files: `1.jpg` and `1.seg.png`."""
    folder.mkdir()
    for name, image in small(photographs, num):
        image.save(folder / f"{name}.jpg", quality=95)
        red_mask(image).save(folder / f"{name}.seg.png")


def write_coco(photographs: Path, folder: Path, num: int) -> None:
    """Photographs with up to two painted rectangles each, and `annotations.json` as COCO has it."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    images, annotations = [], []
    categories = [{"id": 90 - number, "name": name} for number, name in enumerate(COLOURS)]
    for number, (name, image) in enumerate(small(photographs, num)):
        images.append({"id": 1000 - number, "file_name": f"{name}.jpg", "width": image.width, "height": image.height})
        for half in range(number % 3):  # none, one in the left half, one in each half
            category = categories[rng.integers(len(categories))]
            box = paint(image, half, COLOURS[category["name"]], rng)
            annotations.append({"image_id": 1000 - number, "category_id": category["id"], "bbox": box, "iscrowd": 0})
        everything = [0, 0, image.width, image.height]
        annotations.append({"image_id": 1000 - number, "category_id": 90, "bbox": everything, "iscrowd": 1})
        image.save(folder / f"{name}.jpg", quality=95, subsampling=0)
    coco = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(coco))


def paint(image: Image.Image, half: int, colour: tuple[int, int, int], rng: np.random.Generator) -> list[int]:
    """Paints a rectangle into one half of the image; x, y, width and height of it."""
    room = image.width // 2
    width, height = int(rng.integers(24, room - 4)), int(rng.integers(24, image.height - 4))
    x, y = half * room + int(rng.integers(room - width)), int(rng.integers(image.height - height))
    ImageDraw.Draw(image).rectangle((x, y, x + width - 1, y + height - 1), fill=colour)
    return [x, y, width, height]
