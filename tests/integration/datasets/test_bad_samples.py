"""Shards with a bad sample: every engine, fused or not, names shard, key and field and a remedy, or does what is right.

Samples are tuples and dicts; one sample of six is bad.
"""

import dataclasses
import io
import itertools
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import CollateError, DecodeError, LabelError, MissingFieldError, SampleError, TransformError
from tests.encoded_images import encode, photograph

ENGINES = {
    "caller": {"num_workers": 0},
    "threads": {"engine": "threads", "num_workers": 2},
    "processes": {"engine": "processes", "num_workers": 2},
}
NUM, BAD = 6, 4
HEIGHT, WIDTH = 40, 48
FIELDS = {
    "image": hr.field("jpg"),
    "mask": hr.field("seg.png"),
    "boxes": hr.field("boxes.json", kind="boxes"),
    "labels": hr.field("labels.npy", kind="value"),
    "animal": hr.field("animal.txt", classes=("cat", "dog")),
    "caption": hr.field("txt"),
}
RESIZE = v2.Compose([v2.Resize((24, 24)), v2.ToImage()])
CROP = v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToImage()])


def last_leaf(sample):
    """The labels of boxes, or a caption."""
    return list(sample.values())[-1] if isinstance(sample, Mapping) else sample[-1]


def refuse_fours(captions):
    """A tokenizer that raises."""
    if any(caption.endswith(str(BAD)) for caption in captions):
        raise ValueError("no fours")
    return torch.tensor(list(map(len, captions)))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault of sample 4, and what is expected of it."""

    leaves: tuple[str, ...]
    files: Mapping[str, bytes | None] = dataclasses.field(default_factory=dict)
    """What is other in the bad sample; None: it lacks the file."""
    error: type[SampleError]
    field: str
    says: tuple[str, ...] = ()
    """What the message says besides; the remedy is in it."""
    transform: Any = CROP
    collate: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Rules by the names of leaves."""


def npy(values):
    file = io.BytesIO()
    np.save(file, np.array(values))
    return file.getvalue()


def png(height, width):
    return encode(Image.fromarray(np.ones((height, width), np.uint8)), "PNG")


def drop_a_box(sample):
    """Drops the first box and leaves its label, of the bad sample alone."""
    leaves = list(sample.values()) if isinstance(sample, Mapping) else list(sample)
    if leaves[2][0] == BAD:
        leaves[1] = tv_tensors.wrap(leaves[1][1:], like=leaves[1])
    return dict(zip(sample, leaves, strict=True)) if isinstance(sample, Mapping) else tuple(leaves)


SANITIZE = [v2.CenterCrop((30, 30)), v2.SanitizeBoundingBoxes(labels_getter=last_leaf), v2.ToImage()]
VIEWS = hr.Views((v2.Compose([v2.Resize(30), v2.ToImage()]), 2))
WIDER = {"jpg": encode(photograph(40, 60), "JPEG"), "seg.png": png(40, 60)}
LEAVE_OUT = 'on_error="skip" leaves such samples out'
MISSING = 'missing="skip" leaves such samples out, missing="none" gives None in its place'
DETECTION = ("image", "boxes", "labels")
LISTS = {"boxes": "list", "labels": "list"}


def lacking(leaf, file):
    """A sample that lacks a field."""
    leaves = ("image", "mask" if leaf == "image" else leaf)
    return Case(leaves=leaves, files={file: None}, error=MissingFieldError, field=leaf, says=(MISSING,))


CASES = {
    "mask of another size": Case(
        leaves=("image", "mask"),
        files={"seg.png": png(40, 49)},
        error=TransformError,
        field="mask",
        says=("got 40 x 49 pixels beside an image of 40 x 48", "repair the sample, or resize it first"),
    ),
    "boxes that are none": Case(
        leaves=("image", "boxes"),
        files={"boxes.json": b"[[1, 2, 3]]"},
        error=DecodeError,
        field="boxes",
        says=("got [1, 2, 3]", LEAVE_OUT),
    ),
    "more labels than boxes": Case(
        leaves=DETECTION,
        files={"labels.npy": npy([1, 2, 3])},
        error=TransformError,
        field="labels",
        says=("got 2 in 'boxes", "and 3 in 'labels", "Each box needs its label", LEAVE_OUT),
        transform=v2.Compose(SANITIZE),
        collate=LISTS,
    ),
    "a transform that drops boxes and no labels": Case(
        leaves=DETECTION,
        error=TransformError,
        field="labels",
        says=("let a transform that drops boxes drop their labels too", LEAVE_OUT),
        transform=v2.Compose([drop_a_box, *SANITIZE]),
        collate=LISTS,
    ),
    "no boxes, stacked": Case(
        leaves=("image", "boxes"),
        files={"boxes.json": b"[]"},
        error=CollateError,
        field="boxes",
        says=("Tensor(2, 4)", "Tensor(0, 4)", '"list"} keeps them as they are'),
    ),
    "no image": lacking("image", "jpg"),
    "no mask": lacking("mask", "seg.png"),
    "no boxes": lacking("boxes", "boxes.json"),
    "no caption": lacking("caption", "txt"),
    "a label that no class has": Case(
        leaves=("image", "animal"),
        files={"animal.txt": b"cow"},
        error=LabelError,
        field="animal",
        says=("got 'cow'", "cat, dog", LEAVE_OUT),
    ),
    "a tokenizer that raises": Case(
        leaves=("image", "caption"),
        error=TransformError,
        field="caption",
        says=("ValueError: no fours", LEAVE_OUT),
        collate={"caption": refuse_fours},
    ),
    "views of different shapes": Case(
        leaves=("image", "mask"),
        files=WIDER,
        error=CollateError,
        field="image",
        says=("(3, 30, 36)", "(3, 30, 45)", "End the geometry with a fixed size"),
        transform=VIEWS,
    ),
    "masks of different shapes": Case(
        leaves=("image", "mask"),
        files=WIDER,
        error=CollateError,
        field="mask",
        says=("Tensor(40, 48)", "Tensor(40, 60)", '"list"} keeps them as they are'),
        transform=None,
        collate={"image": "list"},
    ),
}


def write(folder, bad, others=None):
    """Two shards of three samples each."""
    with hr.ShardWriter(folder / "s-%02d.tar", samples_per_shard=3) as writer:
        for number in range(NUM):
            files = {
                "jpg": encode(photograph(HEIGHT, WIDTH), "JPEG"),
                "seg.png": png(HEIGHT, WIDTH),
                "boxes.json": json.dumps([[5, 5, 25, 25], [8, 8, 30, 30]]).encode(),
                "labels.npy": npy([number, 10 + number]),
                "animal.txt": b"dog",
                "txt": f"caption {number}",
            }
            files |= bad if number == BAD else (others or {}).get(number, {})
            held = {name: data for name, data in files.items() if data is not None}
            writer.write({"__key__": f"k{number}"} | held)


def loader_of(folder, leaves, transform, *, engine, shape, fuse, collate=None, missing="raise", **options):
    """A loader of these leaves, and how it calls each of them."""
    named = {name: name if shape == "dict" else FIELDS[name].asked for name in leaves}
    fields = {name: FIELDS[name] for name in leaves} if shape == "dict" else tuple(FIELDS[name] for name in leaves)
    dataset = hr.ShardDataset(folder, fields=fields, transform=transform, missing=missing)
    rules = {named[name]: rule for name, rule in (collate or {}).items()}
    loader = hr.DataLoader(dataset, 3, fuse=fuse, collate=rules or None, **ENGINES[engine], **options)
    return loader, named


def leaf_of(batch, named, leaf):
    """The values of a leaf in a batch."""
    return batch[leaf] if isinstance(batch, Mapping) else batch[list(named).index(leaf)]


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    write(folder, CASES[request.param].files)
    return CASES[request.param], folder


WAYS = [
    *itertools.product(("caller", "threads"), ("dict", "tuple"), (True, False)),
    ("processes", "dict", True),
    ("processes", "tuple", False),
]
"""Engine, shape of samples, whether what can be fused is."""


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1]}-{'fused' if way[2] else 'python'}")
def way(request):
    return dict(zip(("engine", "shape", "fuse"), request.param, strict=True))


def test_a_bad_sample_is_named(case, way):
    case, folder = case
    loader, named = loader_of(folder, case.leaves, case.transform, **way, collate=case.collate)
    with closing(loader), pytest.raises(case.error) as caught:
        list(loader)
    where = caught.value.where
    assert (where.get("key"), where.get("field")) == (f"k{BAD}", named[case.field])
    assert str(where.get("shard")).endswith("s-01.tar")
    for text in case.says:
        assert text in str(caught.value)


@pytest.fixture(scope="module")
def odd_boxes(tmp_path_factory):
    """A sample whose boxes lie outside, in part and altogether, and in the other shard one without boxes."""
    folder = tmp_path_factory.mktemp("odd")
    boxes = b"[[-30, -30, -5, -5], [10, 10, 400, 300]]"
    write(folder, {"boxes.json": boxes}, {1: {"boxes.json": b"[]", "labels.npy": npy(np.zeros(0, np.int64))}})
    return folder


def test_boxes_outside_are_clamped_and_sanitised_and_none_are_no_fault(odd_boxes, way):
    transform = v2.Compose([v2.CenterCrop((40, 48)), *SANITIZE[1:]])
    loader, named = loader_of(odd_boxes, DETECTION, transform, **way, collate=LISTS)
    with closing(loader):
        first, second = list(loader)
    assert [tuple(one.shape) for one in leaf_of(first, named, "boxes")] == [(2, 4), (0, 4), (2, 4)]
    assert leaf_of(second, named, "boxes")[1].tolist() == [[10, 10, 48, 40]]
    assert [one.tolist() for one in leaf_of(second, named, "labels")] == [[3, 13], [14], [5, 15]]


@pytest.fixture(scope="module", params=["mask", "image"])
def lacks(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lacks")
    write(folder, {"seg.png" if request.param == "mask" else "jpg": None})
    return request.param, folder


@pytest.mark.parametrize(("missing", "transform"), [("skip", RESIZE), ("none", CROP)], ids=["skip", "none"])
def test_a_sample_that_lacks_a_field_is_left_out_or_has_none(lacks, missing, transform, way):
    lacking, folder = lacks
    loader, named = loader_of(folder, ("image", "mask"), transform, **way, missing=missing, extras=("valid",))
    with closing(loader):
        batch = list(loader)[1]
    found, other = (leaf_of(batch, named, leaf) for leaf in (lacking, "image" if lacking == "mask" else "mask"))
    valid = batch["__valid__"] if isinstance(batch, Mapping) else batch[-1]
    assert [bool(one) for one in valid] == [True, missing == "none", True]
    if missing == "none":
        assert [one is None for one in found] == [False, True, False]
        assert not any(one is None for one in other)
    else:
        assert any(torch.equal(found[1], found[row]) and torch.equal(other[1], other[row]) for row in (0, 2))


def reshape(sample):
    """A sample of another shape, whose caption is a number in some rows."""
    caption = last_leaf(sample)
    return {"x": torch.zeros(2), "meta": {"text": len(caption) if caption.endswith(str(BAD)) else caption}}


def grow(sample):
    """The same with a tensor that is longer in some rows."""
    return {"x": torch.zeros(3 if last_leaf(sample).endswith(str(BAD)) else 2)}


@pytest.mark.parametrize(("transform", "field", "got"), [(reshape, "meta.text", "str, int"), (grow, "x", "Tensor(3,)")])
def test_rows_that_a_transform_makes_unlike_are_named(odd_boxes, transform, field, got, way):
    loader, _ = loader_of(odd_boxes, ("image", "caption"), transform, **way)
    with closing(loader), pytest.raises(CollateError) as caught:
        list(loader)
    where = caught.value.where
    assert (where["key"], where["field"], where["row"]) == (f"k{BAD}", field, BAD % 3)
    assert got in str(caught.value)
    assert "keeps them as they are" in caught.value.remedy
