import pickle

import numpy as np
import pytest

import headrace as hr
from headrace.datasets.field import Field, kind_of_extension
from headrace.datasets.fields import parse_fields
from headrace.errors import OptionError

KINDS = {
    "jpg": "image",
    "png": "image",
    "left.png": "image",
    "seg.png": "mask",
    "left.Mask.png": "mask",
    "mask.tif": "mask",
    "seg.jpg": "image",
    "seg.webp": "image",
    "mask.json": "value",
    "seg": "value",
    "cls": "label",
    "fine.cls": "label",
    "index": "label",
    "txt": "text",
    "en.txt": "text",
    "json": "value",
    "npy": "value",
    "mask.npy": "value",
    "bin": "value",
}


@pytest.mark.parametrize(("extension", "kind"), KINDS.items())
def test_extensions_have_kinds(extension, kind):
    assert hr.field(extension).kind == kind
    assert kind_of_extension(extension.lower()) == kind


def test_alternatives_of_different_kinds_are_values():
    assert hr.field("jpg;png").kind == "image"
    assert hr.field("jpg;txt").kind == "value"


def test_what_is_said_decides():
    assert hr.field("png", kind="mask").kind == "mask"
    assert hr.field("seg.png", kind="image").kind == "image"
    assert hr.field("json", get="a.b").kind == "value"
    assert hr.field("json", get="b", format="XYWH") == Field(
        extensions=("json",), kind="boxes", get="b", format="XYWH", classes=None
    )
    assert hr.field("npy", kind="boxes").format == "XYXY"
    assert hr.field("json", get="label", classes=["cat", "dog"]).kind == "label"


def test_classes_are_kept_as_they_were_given():
    names = ["cat", "dog"]
    kept = hr.field("cls", classes=names)
    names.append("late")
    assert kept.classes == ("cat", "dog")
    assert hr.field("json", get="category_id", classes={1: 0, 90: 1}).classes == {1: 0, 90: 1}
    assert hr.field("cls", classes="auto").classes == "auto"
    from_numpy = hr.field("cls", classes={np.int64(7): np.uint8(1), "b": np.int32(0)}).classes
    assert from_numpy == {7: 1, "b": 0}
    assert {type(one) for one in (*from_numpy, *from_numpy.values())} == {int, str}


def test_fields_travel_to_workers():
    one = hr.field("json", get="label", classes={"a": 0})
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "picture"}, "no such kind"),
        ({"kind": "label", "format": "XYXY"}, "no such format"),
        ({"kind": "boxes", "format": "xyxy"}, "no such format"),
        ({"kind": "boxes", "classes": ["a"]}, "has no classes"),
        ({"classes": []}, "classes are not accepted"),
        ({"classes": ["a", "a"]}, "classes are not accepted"),
        ({"classes": "cat"}, "classes are not accepted"),
        ({"classes": ["a", 1]}, "classes are not accepted"),
        ({"classes": {"a": "b"}}, "classes are not accepted"),
        ({"classes": {"a": True}}, "classes are not accepted"),
        ({"classes": {"a": 2**63}}, "classes are not accepted"),
        ({"classes": {1.5: 0}}, "classes are not accepted"),
        ({"classes": [["a"]]}, "classes are not accepted"),
        ({"classes": b"ab"}, "classes are not accepted"),
        ({"classes": np.array(["a", "b"])}, "classes are not accepted"),
        ({"classes": {}}, "classes are not accepted"),
        ({"classes": 10}, "classes are not accepted"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, said):
    with pytest.raises(OptionError, match=said):
        hr.field("json", **arguments)


@pytest.mark.parametrize("extension", ["mask.jpg", "webp", "png;JPEG"])
def test_masks_are_not_kept_in_lossy_formats(extension):
    with pytest.raises(OptionError, match=r"may change its values.*kind='image'"):
        hr.field(extension, kind="mask")


@pytest.mark.parametrize("extension", ["", "jpg;;png", None, 3])
def test_extensions_that_are_none_are_refused(extension):
    with pytest.raises(OptionError):
        hr.field(extension)


@pytest.mark.parametrize(
    ("extension", "arguments"),
    [
        ("jpg", {"kind": "boxes"}),
        ("jpg", {"kind": "label"}),
        ("txt", {"kind": "image"}),
        ("txt", {"kind": "boxes"}),
        ("json", {"kind": "image"}),
        ("cls", {"kind": "mask"}),
        ("cls;jpg", {"kind": "label"}),
    ],
)
def test_what_a_codec_cannot_hold_is_refused_with_what_it_can(extension, arguments):
    with pytest.raises(OptionError, match=r"cannot be of kind.*accepted: kind 'value', or \w+"):
        hr.field(extension, **arguments)


@pytest.mark.parametrize("extension", ["jpg", "cls", "txt", "json;txt"])
def test_paths_lead_into_structure_only(extension):
    with pytest.raises(OptionError, match=r"no parts to choose from.*json, jsonl, npz, pt"):
        hr.field(extension, get="a.b")


def test_a_name_without_a_codec_may_be_a_column_of_a_list_and_is_no_structure_in_shards():
    column = hr.field("bin", get="a.b")
    with pytest.raises(OptionError, match=r"no parts to choose from in a field `bin`"):
        parse_fields(column, ("bin",))


def test_a_path_that_does_not_parse_is_told_where_it_is_written():
    with pytest.raises(OptionError, match="character 8"):
        hr.field("json", get="objects[x]")


@pytest.mark.parametrize("kind", ["image", "mask", "text", "label", "value"])
def test_extensions_without_a_codec_are_what_is_said(kind):
    assert hr.field("thing", kind=kind).kind == kind


@pytest.mark.parametrize(
    "extension", ["pgm", "ppm", "pbm", "pnm", "tga", "jp2", "json", "jsonl", "jsn", "txt", "png;json"]
)
def test_a_mask_is_refused_where_it_cannot_be_and_what_can_hold_it_is_named(extension):
    with pytest.raises(OptionError, match=r"bmp, gif, npy, npz.*png.*tiff"):
        hr.field(extension, kind="mask")


@pytest.mark.parametrize("extension", ["png", "tif", "tiff", "bmp", "gif", "npy", "pt", "seg.png", "column"])
def test_a_mask_is_accepted_of_what_can_hold_it(extension):
    assert hr.field(extension, kind="mask").kind == "mask"


@pytest.mark.parametrize("extension", ["npy", "npz"])
def test_arrays_are_no_texts(extension):
    with pytest.raises(OptionError, match=r"cannot be of kind 'text'.*read from .*json.*txt"):
        hr.field(extension, kind="text")
