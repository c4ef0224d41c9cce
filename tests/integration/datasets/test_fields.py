"""What `headrace.field` says, from shards to batches: all kinds, shapes, policies and engines."""

import io
import json

import numpy as np
import pytest
import torch
from PIL import Image

import headrace as hr
from headrace.errors import (
    CollateError,
    DecodeError,
    HeadraceError,
    LabelError,
    MissingFieldError,
    OptionError,
)

NUM = 23
NAMES = ("Katze", "dog", "鳥", "no thing")
ENGINES = [{"num_workers": 0}, {"engine": "threads", "num_workers": 2}, {"engine": "processes", "num_workers": 2}]
ENGINE_NAMES = ["inline", "threads", "processes"]

BOXES = hr.field("json", get="objects[].bbox", kind="boxes", format="XYWH")
POINTS = hr.field("json", get="objects[].points", kind="keypoints")
LABELS = hr.field("json", get="objects[].name", kind="label", classes=NAMES)
LABEL = hr.field("json", get="label.id", kind="label")
CAPTION = hr.field("json", get="captions[0]", kind="text")
SCORE = hr.field("json", get="score")
MASK = hr.field("seg.png")
CLASS = hr.field("class", kind="label", classes=NAMES)
EVERYTHING = {
    "image": "png",
    "boxes": BOXES,
    "points": POINTS,
    "labels": LABELS,
    "label": LABEL,
    "caption": CAPTION,
    "score": SCORE,
    "mask": MASK,
    "class": CLASS,
    "text": "txt",
    "array": "npy",
}
LISTS = dict.fromkeys(("boxes", "points", "labels"), "list")


def annotation(number):
    count = number % 4
    return {
        "objects": [
            {
                "bbox": [number, place, 10.5, 20],
                "points": [[number, place], [0.5, -1]],
                "name": NAMES[(number + place) % len(NAMES)],
            }
            for place in range(count)
        ],
        "label": {"id": number % 7},
        "captions": [f"photo {number}", "another"],
        "score": number / 8,
    }


def mask(number):
    return np.random.default_rng(number).integers(0, 21, (6, 9)).astype(np.uint8)


def pixels(number):
    return np.random.default_rng(number).integers(0, 256, (6, 9, 3)).astype(np.uint8)


def sample(number, **changed):
    image = Image.fromarray(mask(number))
    image.putpalette(bytes(range(256)) * 3)
    fields = {
        "png": pixels(number),
        "json": annotation(number),
        "seg.png": image,
        "class": NAMES[number % len(NAMES)].encode(),
        "txt": f"text {number}",
        "npy": np.full((2, 3), number, dtype=np.float32),
    }
    fields |= changed
    return {"__key__": f"k{number:03d}"} | {name: value for name, value in fields.items() if value is not None}


def write(folder, samples, **options):
    with hr.ShardWriter(folder / "s-%02d.tar", samples_per_shard=10, **options) as writer:
        for one in samples:
            writer.write(one)
    return folder


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write(tmp_path_factory.mktemp("fields"), map(sample, range(NUM)))


def expected(number):
    facts = annotation(number)
    objects = facts["objects"]
    return {
        "image": torch.from_numpy(pixels(number)).permute(2, 0, 1),
        "boxes": torch.tensor([one["bbox"] for one in objects]).reshape(-1, 4),
        "points": torch.tensor([one["points"] for one in objects]).reshape(-1, 2, 2),
        "labels": torch.tensor([NAMES.index(one["name"]) for one in objects], dtype=torch.int64),
        "label": number % 7,
        "caption": f"photo {number}",
        "score": number / 8,
        "mask": torch.from_numpy(mask(number)),
        "class": number % len(NAMES),
        "text": f"text {number}",
        "array": np.full((2, 3), number, dtype=np.float32),
    }


def assert_same(found, wanted):
    if isinstance(wanted, (torch.Tensor, np.ndarray)):
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape or (found.numel() == wanted.numel() == 0)
        np.testing.assert_array_equal(np.asarray(found).reshape(wanted.shape), np.asarray(wanted))
    else:
        assert type(found) is type(wanted)
        assert found == wanted


def as_dict(found, names, shape):
    if shape == "dict":
        return found
    return dict(zip(names, found if shape == "tuple" else [found], strict=True))


@pytest.mark.parametrize("shape", ["dict", "tuple", "bare"])
def test_samples_hold_what_fields_say(shards, shape):
    for names in [[name] for name in EVERYTHING] if shape == "bare" else [list(EVERYTHING)]:
        asked = [EVERYTHING[name] for name in names]
        fields = {"dict": dict(zip(names, asked, strict=True)), "tuple": tuple(asked), "bare": asked[0]}[shape]
        dataset = hr.ShardDataset(shards, fields=fields)
        for number in (0, 1, 7, NUM - 1):
            parts = as_dict(dataset[number], names, shape)
            assert list(parts) == names
            for name in names:
                assert_same(parts[name], expected(number)[name])


def test_boxes_of_no_objects_have_a_shape(shards):
    found = hr.ShardDataset(shards, fields=(BOXES, POINTS, LABELS))[0]
    assert [tuple(one.shape) for one in found] == [(0, 4), (0, 0, 2), (0,)]


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
def test_batches_of_every_kind_in_every_engine(shards, engine):
    loader = hr.DataLoader(
        hr.ShardDataset(shards, fields=EVERYTHING), 5, shuffle=True, collate=LISTS, extras="index", **engine
    )
    seen = []
    for batch in loader:
        for row, number in enumerate(batch["__index__"].tolist()):
            wanted = expected(number)
            assert_same(batch["mask"][row], wanted["mask"])
            assert_same(batch["image"][row], wanted["image"])
            for name in LISTS:
                assert_same(batch[name][row], wanted[name])
            for name in ("label", "class", "score", "caption", "text"):
                value = batch[name][row]
                assert (value.item() if isinstance(value, torch.Tensor) else value) == wanted[name]
            seen.append(number)
        assert batch["label"].dtype is batch["class"].dtype is torch.int64
    assert sorted(seen) == list(range(NUM))
    loader.close()


def test_pad_fills_boxes_up_and_tells_how_many_there_are(shards):
    dataset = hr.ShardDataset(shards, fields=(BOXES, LABELS))
    rules = {0: hr.Pad(lengths=True), "json:objects[].name": hr.Pad(value=-1)}
    (boxes, counts), labels = next(iter(hr.DataLoader(dataset, 8, num_workers=0, collate=rules)))
    assert boxes.shape == (8, 3, 4)
    assert counts.tolist() == [number % 4 for number in range(8)]
    assert ((labels == -1).sum(1) == 3 - counts).all()


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"image": MASK, "boxes": BOXES}, r"collate=\{'boxes': \"list\"\}"),
        ((MASK, BOXES), r"collate=\{'json:objects\[\]\.bbox': \"list\"\}"),
    ],
)
def test_batches_of_uneven_boxes_say_which_field_needs_which_rule(shards, fields, rule):
    loader = hr.DataLoader(hr.ShardDataset(shards, fields=fields), 8, num_workers=0)
    with pytest.raises(CollateError, match=rf"(boxes|objects\[\]\.bbox).*Tensor\(0, 4\).*{rule}.*\"pad\""):
        next(iter(loader))


@pytest.mark.parametrize("fields", ["txt", CAPTION])
def test_extras_stand_beside_a_field_that_is_alone(shards, fields):
    dataset = hr.ShardDataset(shards, fields=fields)
    for options in ({}, {"collate": "list"}):
        texts, index, key, url, valid = next(
            iter(hr.DataLoader(dataset, 4, num_workers=0, extras=("index", "key", "url", "valid"), **options))
        )
        assert list(texts) == [dataset[number] for number in range(4)]
        assert index.tolist() == [0, 1, 2, 3]
        assert key == ["k000", "k001", "k002", "k003"]
        assert {one.rpartition("/")[2] for one in url} == {"s-00.tar"}
        assert valid.tolist() == [True] * 4


@pytest.mark.parametrize("rule", ["list", "pad"])
def test_extras_stand_beside_boxes_that_are_alone(shards, rule):
    loader = hr.DataLoader(
        hr.ShardDataset(shards, fields=BOXES), 4, num_workers=0, extras="index", collate={BOXES.asked: rule}
    )
    boxes, index = next(iter(loader))
    assert [len(one) for one in boxes] == ([0, 1, 2, 3] if rule == "list" else [3] * 4)
    assert index.tolist() == [0, 1, 2, 3]


def test_extras_stand_beside_texts_of_any_dataset():
    texts, index = next(iter(hr.DataLoader(["a", "bb", "c"], 3, num_workers=0, extras="index")))
    assert list(texts) == ["a", "bb", "c"]
    assert index.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", [*EVERYTHING])
@pytest.mark.parametrize("shape", ["dict", "tuple", "bare"])
def test_every_policy_for_every_missing_kind(tmp_path, name, shape):
    check_policies(tmp_path, {name: EVERYTHING[name]}, shape, ENGINES[0])


@pytest.mark.parametrize("shape", ["dict", "tuple"])
@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
def test_every_policy_where_all_kinds_are_missing(tmp_path, shape, engine):
    check_policies(tmp_path, EVERYTHING, shape, engine)


def check_policies(tmp_path, asked, shape, engine):
    """Sample 2 of 6 lacks all fields but one that nobody reads."""
    samples = [sample(number) for number in range(6)]
    samples[2] = {"__key__": "k002", "bin": b"x"}
    write(tmp_path, samples)
    names = list(asked)
    fields = {"dict": asked, "tuple": tuple(asked.values()), "bare": asked[names[0]]}[shape]
    rules = {entry.name: "list" for entry in hr.ShardDataset(tmp_path, fields=fields).shape.entries}

    def batch(missing):
        dataset = hr.ShardDataset(tmp_path, fields=fields, missing=missing)
        loader = hr.DataLoader(dataset, 6, collate=rules, extras="valid", **engine)
        try:
            found = next(iter(loader))
        finally:
            loader.close()
        return found if shape == "dict" else dict(zip([*names, "__valid__"], found, strict=True))

    with pytest.raises(MissingFieldError) as caught:
        batch("raise")
    assert caught.value.where["key"] == "k002"
    assert caught.value.where["shard"].endswith("s-00.tar")
    assert caught.value.where["field"] in rules
    skipped = batch("skip")
    assert skipped["__valid__"].tolist() == [True, True, False, True, True, True]
    given = batch("none")
    assert given["__valid__"].all()
    for name in names:
        assert given[name][2] is None
        assert skipped[name][2] is not None
        for row in (0, 1, 3, 4, 5):
            assert_same(given[name][row], expected(row)[name])
            assert_same(skipped[name][row], expected(row)[name])


@pytest.mark.parametrize(
    ("facts", "place"),
    [({}, "whole value"), ({"objects": [{"name": "dog"}]}, r"objects\[0\]"), ({"objects": None}, "objects")],
)
def test_a_part_that_is_missing_follows_the_policy_of_missing_fields(tmp_path, facts, place):
    write(tmp_path, [sample(1), sample(2, json=facts)])
    fields = {"boxes": BOXES, "text": "txt"}
    with pytest.raises(MissingFieldError, match=rf"{place}.*get='objects\[\]\.bbox'.*missing=\"skip\"") as caught:
        hr.ShardDataset(tmp_path, fields=fields)[1]
    assert caught.value.where["key"] == "k002"
    assert caught.value.where["field"] == "boxes"
    assert hr.ShardDataset(tmp_path, fields=fields, missing="none")[1] == {"boxes": None, "text": "text 2"}
    loader = hr.DataLoader(hr.ShardDataset(tmp_path, fields=fields, missing="skip"), 2, num_workers=0, extras="valid")
    assert next(iter(loader))["__valid__"].tolist() == [True, False]


def test_null_is_missing_where_a_kind_is_said_and_a_value_where_not(tmp_path):
    write(tmp_path, [sample(1, json={"a": None}), sample(2, json=b"null")])
    value = hr.field("json", get="a")
    assert hr.ShardDataset(tmp_path, fields=value)[0] is None
    assert hr.ShardDataset(tmp_path, fields="json")[1] is None
    for kind in ("boxes", "keypoints", "label", "text"):
        with pytest.raises(MissingFieldError, match="leads to null"):
            hr.ShardDataset(tmp_path, fields=hr.field("json", get="a", kind=kind))[0]
    with pytest.raises(MissingFieldError, match="holds null"):
        hr.ShardDataset(tmp_path, fields=hr.field("json", kind="boxes"))[1]


BAD = {
    "nan": (BOXES, b'{"objects": [{"bbox": [1, 2, NaN, 4]}]}', DecodeError, r"\[0\].*nan"),
    "strings": (BOXES, b'{"objects": [{"bbox": ["1", "2", "3", "4"]}]}', DecodeError, r"\[0\].*'1'"),
    "length": (BOXES, b'{"objects": [{"bbox": [1, 2, 3]}]}', DecodeError, r"\[0\].*\[1, 2, 3\]"),
    "no list": (BOXES, b'{"objects": {"bbox": [1, 2, 3, 4]}}', DecodeError, "cannot be asked for"),
    "name": (LABELS, b'{"objects": [{"name": "katze"}]}', LabelError, r"no class has.*got 'katze' at \[0\]"),
    "number": (LABELS, b'{"objects": [{"name": 4}]}', LabelError, r"no class has.*got 4 at \[0\]"),
    "half": (LABEL, b'{"label": {"id": 1.5}}', LabelError, "neither a name nor a whole number"),
    "text": (CAPTION, b'{"captions": [3]}', DecodeError, "holds no text"),
    "cut short": (BOXES, b'{"objects": [', DecodeError, "not valid JSON"),
    "nested": (BOXES, b"[" * 200_000, DecodeError, "not valid JSON"),
    "deep": (BOXES, b'{"objects": [{"bbox": ' + b"[" * 600 + b"]" * 600 + b"}]}", DecodeError, "does not hold boxes"),
    "deep label": (LABEL, b'{"label": {"id": ' + b"[" * 600 + b"]" * 600 + b"}}", LabelError, "neither a name"),
    "deep text": (CAPTION, b'{"captions": [' + b"[" * 600 + b"]" * 600 + b"]}", DecodeError, "holds no text"),
    "long number": (LABEL, b'{"label": {"id": ' + b"9" * 5000 + b"}}", DecodeError, "not valid JSON"),
    "utf-8": (CAPTION, b'{"captions": ["\xff\xfe"]}', DecodeError, "not valid JSON"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("engine", ENGINES[:2], ids=ENGINE_NAMES[:2])
def test_bad_content_is_named_with_shard_key_and_field_and_can_be_skipped(tmp_path, case, engine):
    field, content, kind, said = BAD[case]
    write(tmp_path, [sample(1), sample(2, json=content), sample(3)])
    dataset = hr.ShardDataset(tmp_path, fields={"target": field, "text": "txt"})
    with pytest.raises(kind, match=said) as caught:
        next(iter(hr.DataLoader(dataset, 3, collate={"target": "list"}, **engine)))
    where = caught.value.where
    assert where["key"] == "k002"
    assert where["field"] == ("json" if "JSON" in said else "target")  # of the member, or of what is taken of it
    assert where["shard"].endswith("s-00.tar")
    loader = hr.DataLoader(dataset, 3, collate={"target": "list"}, on_error="skip", extras="valid", **engine)
    batch = next(iter(loader))
    assert batch["__valid__"].tolist() == [True, False, True]
    loader.close()


def test_a_batch_without_a_good_row_is_of_the_kind_of_all_others(tmp_path):
    write(tmp_path, [sample(1, json=b"{", **{"seg.png": b"no", "class": b"no class"})])
    fields = {"boxes": BOXES, "points": POINTS, "labels": LABELS, "mask": MASK, "class": CLASS, "text": CAPTION}
    loader = hr.DataLoader(hr.ShardDataset(tmp_path, fields=fields), 1, num_workers=0, on_error="skip", extras="valid")
    batch = next(iter(loader))
    assert not batch["__valid__"].any()
    assert batch["boxes"].shape == (1, 0, 4)
    assert batch["points"].shape == (1, 0, 0, 2)
    assert batch["labels"].shape == (1, 0)
    assert batch["mask"].shape == (1, 0, 0)
    assert batch["class"].tolist() == [0]
    assert list(batch["text"]) == [""]


def test_duplicate_keys_count_as_python_counts_them(tmp_path):
    write(tmp_path, [sample(1, json=b'{"a": 1, "a": 2}')])
    assert hr.ShardDataset(tmp_path, fields=hr.field("json", get="a", kind="label"))[0] == 2


def test_a_json_field_of_a_hundred_megabytes_is_refused_before_it_is_parsed(tmp_path):
    write(tmp_path, [sample(1, json=b"[" + b" " * (100 << 20) + b"]")])
    with pytest.raises(DecodeError, match=r"too large to be parsed.*key=k001.*npy"):
        hr.ShardDataset(tmp_path, fields="json")[0]


def test_values_nested_too_deep_for_a_batch_say_so(tmp_path):
    deep = {"__key__": "a", "json": b'{"a": ' + b"[" * 600 + b"1" + b"]" * 600 + b"}"}
    write(tmp_path, [deep, deep | {"__key__": "b"}])
    dataset = hr.ShardDataset(tmp_path, fields={"facts": "json"})
    with pytest.raises(CollateError, match=r"nested deeper.*collate=\{'facts': \"list\"\}"):
        next(iter(hr.DataLoader(dataset, 2, num_workers=0)))
    assert len(next(iter(hr.DataLoader(dataset, 2, num_workers=0, collate={"facts": "list"})))["facts"]) == 2


def test_boxes_and_masks_of_arrays(tmp_path):
    boxes, instances = np.arange(8).reshape(2, 4), np.zeros((3, 5, 6), dtype=bool)
    instances[1, 2] = True
    write(tmp_path, [sample(1, npz={"boxes": boxes, "masks": instances, "big": np.full((2, 2), 70_000, np.uint32)})])
    fields = (
        hr.field("npz", get="boxes", kind="boxes"),
        hr.field("npz", get="masks", kind="mask"),
        hr.field("npz", get="big", kind="mask"),
    )
    found, masks, big = hr.ShardDataset(tmp_path, fields=fields)[0]
    assert_same(found, torch.tensor(boxes, dtype=torch.float32))
    assert_same(masks, torch.from_numpy(instances.astype(np.uint8)))
    assert_same(big, torch.full((2, 2), 70_000))
    with pytest.raises(DecodeError, match=r"holds no mask.*float32"):
        hr.ShardDataset(tmp_path, fields=hr.field("npy", kind="mask"))[0]["nothing"]


def test_a_mask_that_is_a_jpeg_under_another_name_is_refused(tmp_path):
    with hr.ShardWriter(tmp_path / "jpeg-%02d.tar") as writer:
        data = io.BytesIO()
        Image.fromarray(mask(1)).save(data, "JPEG")
        writer.write({"__key__": "a", "seg.png": data.getvalue()})
    with pytest.raises(DecodeError, match=r"may change its values.*key=a.*field=seg\.png.*JPEG.*kind='image'"):
        hr.ShardDataset(tmp_path, fields="seg.png")[0]
    assert hr.ShardDataset(tmp_path, fields=hr.field("seg.png", kind="image"))[0].shape == (3, 6, 9)


def test_what_is_read_can_be_written_and_read_again(shards, tmp_path):
    """Values go back under their extensions: dicts, texts, arrays, masks, and tensors inside of JSON."""
    dataset = hr.ShardDataset(shards, fields={"json": "json", "seg.png": MASK, "txt": "txt", "npy": "npy"})
    deep = {"index": np.int64(3), "boxes": torch.tensor([[1.5, 2, 3, 4]]), "ids": np.arange(3), "half": np.float32(0.5)}
    with hr.ShardWriter(tmp_path / "copy-%02d.tar") as writer:
        for number in range(NUM):
            writer.write({"__key__": str(number), **dataset[number], "meta.json": deep})
            wide = {"mask.png": dataset[number]["seg.png"].long(), "deep.mask.png": mask(number).astype(np.uint16) * 99}
            writer.write({"__key__": f"{number}-wide", **wide})
    copy = hr.ShardDataset(tmp_path, missing="none")
    for number in range(NUM):
        first, second = copy[2 * number], copy[2 * number + 1]
        for name, value in dataset[number].items():
            assert_same(first[name], value)
        assert first["meta.json"] == {"index": 3, "boxes": [[1.5, 2, 3, 4]], "ids": [0, 1, 2], "half": 0.5}
        assert_same(second["mask.png"], torch.from_numpy(mask(number)))
        assert_same(second["deep.mask.png"], torch.from_numpy(mask(number).astype(np.int32) * 99))


@pytest.mark.parametrize("wide", [np.full((2, 2), 256), np.full((2, 2), -1, np.int8), np.full((2, 2), 1 << 20)])
def test_masks_that_8_bits_do_not_hold_are_not_written(tmp_path, wide):
    with (
        pytest.raises(HeadraceError, match=r"does not fit into 8 bits; uint16"),
        hr.ShardWriter(tmp_path / "s-%02d.tar") as writer,
    ):
        writer.write({"__key__": "a", "seg.png": wide})


def test_classes_of_the_dataset(shards, tmp_path):
    write(tmp_path, map(sample, range(4)), extra={"class_names": list(NAMES)})
    auto = hr.field("json", get="objects[].name", classes="auto")
    dataset = hr.ShardDataset(tmp_path, fields=auto)
    assert dataset.classes == NAMES
    assert_same(dataset[3], expected(3)["labels"])
    assert hr.ShardDataset(tmp_path).classes == NAMES
    assert hr.ShardDataset(shards).classes is None
    assert hr.ShardDataset(shards, fields=LABELS).classes == NAMES
    assert hr.ShardDataset(tmp_path, fields=hr.field("cls;class", classes=["a", "b"])).classes == ("a", "b")
    by_name = {name: number for number, name in enumerate(reversed(NAMES))}
    assert hr.ShardDataset(shards, fields=hr.field("class", classes=by_name)).classes == NAMES[::-1]
    assert hr.ShardDataset(shards, fields=hr.field("class", classes=dict.fromkeys(NAMES, 0))).classes is None
    with pytest.raises(OptionError, match=r"no class names.*headrace index SHARDS --classes 'json:objects\[\]\.name'"):
        hr.ShardDataset(shards, fields=auto)


def test_a_callable_of_a_field_gets_what_the_field_holds(shards):
    seen = []

    def note(boxes):
        seen.append(boxes)
        return boxes[:, 2:].prod(1)

    areas = hr.ShardDataset(shards, fields={"area": BOXES}, transform={"area": note})[3]["area"]
    assert seen[0].shape == (3, 4)
    assert areas.tolist() == [210.0] * 3


def test_a_callable_goes_by_the_extension_where_one_field_alone_has_it(shards):
    assert hr.ShardDataset(shards, fields=(BOXES, "txt"), transform={"json": len})[3] == (3, "text 3")
    dataset = hr.ShardDataset(shards, fields=(BOXES, LABELS), transform={"json": len})
    with pytest.raises(OptionError, match=r"several fields.*'json'.*'json:objects\[\]\.bbox', 'json:obj"):
        dataset[3]
    with pytest.raises(OptionError, match=r"a field that the sample has not.*'jpg'"):
        hr.ShardDataset(shards, fields=(BOXES, "txt"), transform={"jpg": len})[3]
    found = hr.ShardDataset(shards, fields=(BOXES, LABELS), transform={"json:objects[].name": len})[3]
    assert found[0].shape == (3, 4)
    assert found[1] == 3


def test_values_of_one_document_are_not_shared_with_who_changes_them(shards):
    fields = {"all": "json", "part": hr.field("json", get="objects"), "boxes": BOXES}

    def spoil(sample):
        sample["part"].clear()
        sample["boxes"].fill_(0)
        return sample

    found = hr.ShardDataset(shards, fields=fields, transform=spoil)[3]
    assert found["part"] == []
    assert json.dumps(found["all"]) == json.dumps(annotation(3))
