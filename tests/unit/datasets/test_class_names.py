import pytest

import headrace as hr
from headrace.datasets.class_names import in_order, names_of_labels, with_classes
from headrace.datasets.fields import parse_fields
from headrace.errors import OptionError

AUTO = hr.field("json", get="name", classes="auto")


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (("a", "b"), ("a", "b")),
        ({"a": 1, "b": 0}, ("b", "a")),
        ({"a": 0, "b": 0}, None),
        ({"a": 1}, None),
        ({1: 0, 2: 1}, None),
        ("auto", None),
        (None, None),
    ],
)
def test_names_in_the_order_of_their_numbers(classes, names):
    assert in_order(classes) == names


def test_the_dataset_s_names_take_the_place_of_auto_and_of_nothing_else():
    shape = parse_fields((AUTO, "cls", hr.field("json", get="x", classes=["z"])), ())
    named = with_classes(shape, ("a", "b"))
    assert [entry.field.classes for entry in named.entries] == [("a", "b"), None, ("z",)]
    assert [entry.name for entry in named.entries] == [entry.name for entry in shape.entries]


def test_auto_without_names_says_how_to_find_them():
    with pytest.raises(OptionError, match=r"headrace index SHARDS --classes 'json:name'"):
        with_classes(parse_fields(AUTO, ()), None)
    assert with_classes(parse_fields("cls", ()), None) == parse_fields("cls", ())


def test_labels_are_called_what_their_field_says_before_what_the_index_says():
    one = hr.field("cls", classes=["x", "y"])
    other = hr.field("json", get="name", classes=["z"])
    assert names_of_labels(parse_fields((one, "jpg"), ()), ("a",)) == ("x", "y")
    assert names_of_labels(parse_fields((one, hr.field("json", get="a", classes=["x", "y"])), ()), None) == ("x", "y")
    assert names_of_labels(parse_fields((one, other), ()), ("a",)) == ("a",)
    assert names_of_labels(parse_fields("cls", ()), None) is None
