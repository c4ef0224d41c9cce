"""Masks, boxes, captions and labels survive packing: what shards give is what the files beside the images hold."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

import headrace as hr
from headrace.pack import PackOptions, pack

NUM = 7
FIELDS = {
    "mask": "seg.png",
    "boxes": hr.field("json", get="objects[].bbox", kind="boxes", format="XYWH"),
    "labels": hr.field("json", get="objects[].name", classes=["dog", "猫"]),
    "caption": "txt",
    "points": hr.field("points.npy", kind="keypoints"),
    "all": "json",
}


def objects(number):
    return [{"bbox": [number, place, 3, 4.5], "name": ["dog", "猫"][place % 2]} for place in range(number % 3)]


@pytest.fixture(scope="module")
def folder(photographs, tmp_path_factory):
    """Photographs with a palette mask, JSON, a caption and an array beside each."""
    folder = tmp_path_factory.mktemp("siblings")
    for number, path in enumerate(sorted(photographs.rglob("*.jpg"))[:NUM]):
        shutil.copy(path, folder / f"{number}.jpg")
        (folder / f"{number}.json").write_text(json.dumps({"objects": objects(number)}, ensure_ascii=False))
        (folder / f"{number}.txt").write_text(f"photo {number}: 猫")
        mask = Image.fromarray(mask_of(number))
        mask.putpalette(bytes(range(255, -1, -1)) * 3)
        mask.save(folder / f"{number}.seg.png")
        np.save(folder / f"{number}.points.npy", np.full((2, 3, 2), number))
    return folder


def mask_of(number):
    return np.random.default_rng(number).integers(0, 255, (5, 8)).astype(np.uint8)


def assert_holds(dataset):
    found = {sample["caption"]: sample for sample in dataset}
    assert len(found) == NUM
    for number in range(NUM):
        sample = found[f"photo {number}: 猫"]
        np.testing.assert_array_equal(sample["mask"], mask_of(number))
        boxes = torch.tensor([one["bbox"] for one in objects(number)]).reshape(-1, 4)
        assert torch.equal(sample["boxes"], boxes)
        assert sample["labels"].tolist() == [place % 2 for place in range(number % 3)]
        assert sample["points"].shape == (2, 3, 2)
        assert sample["all"] == {"objects": objects(number)}


def test_files_side_by_side_and_their_shards_hold_the_same(folder, tmp_path):
    pack(str(folder), str(tmp_path), PackOptions(samples_per_shard=3))
    assert_holds(hr.ShardDataset(tmp_path, fields=FIELDS))
    assert_holds(hr.FileDataset(folder, fields=FIELDS))


def test_shards_that_are_packed_again_hold_the_same(folder, tmp_path):
    pack(str(folder), str(tmp_path / "once"), PackOptions(samples_per_shard=3))
    pack(str(tmp_path / "once"), str(tmp_path / "twice"), PackOptions(samples_per_shard=2))
    assert_holds(hr.ShardDataset(tmp_path / "twice", fields=FIELDS))


def test_columns_of_a_list_are_parts_of_its_json(folder, tmp_path):
    rows = [
        {"image": f"{number}.jpg", "objects": objects(number), "caption": f"photo {number}"} for number in range(NUM)
    ]
    (folder / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pack(str(folder / "list.jsonl"), str(tmp_path), PackOptions(samples_per_shard=3))
    fields = (FIELDS["boxes"], FIELDS["labels"], hr.field("json", get="caption", kind="text"))
    found = {caption: (boxes, labels) for boxes, labels, caption in hr.ShardDataset(tmp_path, fields=fields)}
    for number in range(NUM):
        boxes, labels = found[f"photo {number}"]
        assert boxes.tolist() == [one["bbox"] for one in objects(number)]
        assert labels.tolist() == [place % 2 for place in range(number % 3)]
