"""RandomIoUCrop in a loader: decided before images are decoded, whatever the images and boxes are."""

from __future__ import annotations

import json

import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import TransformError
from tests.encoded_images import encode, photograph

BOXES = [[10, 10, 60, 60], [30, 20, 90, 70]]
CHAIN = [v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.Resize((32, 48))]
ENDING = [v2.SanitizeBoundingBoxes(), v2.ToImage()]


class OwnCrop(v2.RandomIoUCrop):
    """A subclass could do anything."""


def write(folder, images, boxes=BOXES):
    """Shards of these images (extension and bytes), all with the same boxes unless there is a list for each."""
    each = boxes if isinstance(boxes, dict) else dict.fromkeys(range(len(images)), boxes)
    with hr.ShardWriter(folder / "part-%02d.tar") as writer:
        for number, (extension, data) in enumerate(images):
            objects = {"bbox": each[number], "label": list(range(len(each[number] or [])))}
            writer.write({"__key__": f"{number:03d}", extension: data, "json": json.dumps(objects).encode()})
    return folder / "part-00.tar"


def dataset(shard, transforms, **options):
    fields = {
        "image": "jpg;png",
        "boxes": hr.field("json", get="bbox", kind="boxes"),
        "labels": hr.field("json", get="label", kind="label"),
    }
    return hr.ShardDataset(shard, fields=fields, transform=v2.Compose(transforms), **options)


def batches(shard, transforms, dataset_options=None, **options):
    made = dataset(shard, transforms, **(dataset_options or {}))
    loader = hr.DataLoader(made, batch_size=4, collate={"boxes": "list", "labels": "list"}, **options)
    try:
        return [batch for _ in range(2) for batch in loader]
    finally:
        loader.close()


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name in one:
            assert len(one[name]) == len(other[name])
            assert all(torch.equal(left, right) for left, right in zip(one[name], other[name], strict=True)), name


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    """JPEGs of several kinds and sizes, one lying on its side, and other formats."""
    exif = Image.Exif()
    exif[0x0112] = 6
    images = [("jpg", encode(photograph(80 + row, 100), "JPEG", quality=90)) for row in range(4)]
    images += [
        ("jpg", encode(photograph(90, 120), "JPEG", progressive=True)),
        ("png", encode(photograph(75, 95), "PNG")),
    ]
    images += [
        ("jpg", encode(photograph(90, 120), "JPEG", exif=exif)),
        ("jpg", encode(photograph(70, 90).convert("CMYK"), "JPEG")),
    ]
    return write(tmp_path_factory.mktemp("shards"), images)


@pytest.mark.parametrize("exif", ["ignore", "apply"])
@pytest.mark.parametrize(
    "transforms", [[*CHAIN, *ENDING], [v2.RandomIoUCrop(), *ENDING]], ids=["resized", "as cropped"]
)
def test_fused_is_unfused(shard, transforms, exif):
    rules = {"collate": {"image": "list", "boxes": "list", "labels": "list"}}
    made = []
    for fuse in (True, False):
        loader = hr.DataLoader(dataset(shard, transforms), batch_size=4, fuse=fuse, exif=exif, **rules)
        made.append([batch for _ in range(2) for batch in loader])
        loader.close()
    assert_equal(*made)
    sizes = {tuple(image.shape) for batch in made[0] for image in batch["image"]}
    assert len(sizes) == 1 if len(transforms) > len(ENDING) + 1 else len(sizes) > 1


@pytest.mark.parametrize(
    "options", [{"num_workers": 2, "engine": "threads"}, {"num_workers": 2, "engine": "processes"}]
)
def test_every_engine_crops_alike(shard, options):
    transforms = [*CHAIN, *ENDING]
    assert_equal(batches(shard, transforms, **options), batches(shard, transforms, num_workers=0))


def test_explain_says_that_it_is_fused(shard):
    loader = hr.DataLoader(dataset(shard, [*CHAIN, *ENDING]), batch_size=4, num_workers=2)
    assert "RandomIoUCrop" in loader.explain()
    assert "Python" not in "".join(line for line in loader.explain().splitlines() if "RandomIoUCrop" in line)
    loader.close()
    own = hr.DataLoader(dataset(shard, [OwnCrop(), *CHAIN[1:], *ENDING]), batch_size=4, num_workers=2)
    assert "OwnCrop" in own.explain()
    own.close()


@pytest.mark.parametrize("fuse", [True, False])
def test_a_crop_that_cannot_be_found_is_a_fault_of_its_sample(tmp_path, fuse):
    """torchvision would search for ever."""
    boxes = {0: BOXES, 1: [[500, 500, 510, 510]], 2: [], 3: BOXES}
    shard = write(tmp_path, [("jpg", encode(photograph(80, 100), "JPEG"))] * 4, boxes)
    transforms = [v2.RandomIoUCrop(sampler_options=[0.0, 0.1]), *CHAIN[1:], *ENDING]
    with pytest.raises(TransformError, match=r"001[\s\S]*sampler_options|sampler_options[\s\S]*001"):
        batches(shard, transforms, fuse=fuse)
    (batch, _) = batches(shard, transforms, {"on_error": "skip"}, fuse=fuse)
    assert [len(one) > 0 for one in batch["boxes"]].count(True) >= 2


@pytest.mark.parametrize("fuse", [True, False])
def test_a_sample_without_boxes_stays_whole_or_is_refused(tmp_path, fuse):
    shard = write(tmp_path, [("jpg", encode(photograph(80, 100), "JPEG"))] * 4, {0: [], 1: [], 2: BOXES, 3: []})
    for batch in batches(shard, [*CHAIN, *ENDING], fuse=fuse):
        whole = v2.functional.pil_to_tensor(photograph(80, 100))
        assert batch["image"].shape == (4, *whole.shape[:1], 32, 48)
        assert [len(one) for one in batch["boxes"]][:2] == [0, 0]
