import pytest

from headrace.datasets.field import field
from headrace.datasets.fields import parse_fields
from headrace.errors import OptionError

KNOWN = ("jpg", "cls", "seg.png")


def test_a_string_gives_bare_samples():
    shape = parse_fields("jpg;png", KNOWN)
    assert shape.shape == "bare"
    assert shape.entries[0].extensions == ("jpg", "png")
    assert shape.build(["image"]) == "image"


def test_a_sequence_gives_tuples_and_a_mapping_dicts():
    assert parse_fields(["jpg", "cls"], KNOWN).build([1, 2]) == (1, 2)
    assert parse_fields({"image": "jpg", "label": ".CLS"}, KNOWN).build([1, 2]) == {"image": 1, "label": 2}


def test_none_gives_a_dict_of_all_fields():
    assert parse_fields(None, KNOWN).build([1, 2, 3]) == {"jpg": 1, "cls": 2, "seg.png": 3}


@pytest.mark.parametrize("fields", ["jpg", ("jpg", "cls"), {"a": "jpg", "b": "cls"}])
def test_leaves_undo_build(fields):
    shape = parse_fields(fields, KNOWN)
    values = list(range(len(shape.entries)))
    assert shape.leaves(shape.build(values)) == values


def test_a_sample_of_another_shape_has_no_leaves():
    assert parse_fields(("jpg", "cls"), KNOWN).leaves((1, 2, 3)) is None
    assert parse_fields({"a": "jpg"}, KNOWN).leaves({"b": 1}) is None


@pytest.mark.parametrize("fields", ["", "jpg;;png", ("jpg", 3), 7, {}, (), {"a": None}])
def test_entries_that_are_none_are_refused(fields):
    with pytest.raises(OptionError):
        parse_fields(fields, KNOWN)


def test_a_field_that_no_shard_holds_is_refused_with_those_that_exist():
    with pytest.raises(OptionError, match=r"'webp'.*jpg, cls, seg\.png"):
        parse_fields(("webp", "cls"), KNOWN)


def test_fields_with_a_path_are_named_by_it_and_names_come_once():
    asked = ("jpg", field("json", get="objects[].bbox", kind="boxes"), field("json", get="id"), "jpg")
    shape = parse_fields(asked, ("jpg", "json"))
    assert [entry.name for entry in shape.entries] == ["jpg", "json:objects[].bbox", "json:id", "jpg#2"]
    assert [entry.kind for entry in shape.entries] == ["image", "boxes", "value", "image"]


def test_fields_go_wherever_extensions_go():
    label = field("json", get="label.id", kind="label")
    assert parse_fields(label, ("json",)).entries[0].field == label
    assert parse_fields({"target": label}, ("json",)).entries[0].name == "target"
