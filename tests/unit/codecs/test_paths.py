"""Paths: what parses, what they lead to, and what errors say of the place."""

import numpy as np
import pytest
import torch

from headrace.codecs.paths import EACH, MAX_STEPS, parse_path
from headrace.errors import DecodeError, MissingFieldError, OptionError

DOCUMENT = {
    "label": {"id": 7, "name": "cat"},
    "captions": ["first", "second"],
    "objects": [{"bbox": [1, 2, 3, 4], "parts": [{"x": 1}, {"x": 2}]}, {"bbox": [5, 6, 7, 8], "parts": []}],
    "a.b": {"[]": "quoted"},
    "größe": 3,
    "with space": 4,
    "empty": [],
    "none": None,
}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("objects[].bbox", ("objects", EACH, "bbox")),
        ("[]", (EACH,)),
        ("[0][-1]", (0, -1)),
        ('["a.b"].c', ("a.b", "c")),
        ('a["b c"][]', ("a", "b c", EACH)),
        ("$ref.@x.-1", ("$ref", "@x", "-1")),
    ],
)
def test_what_parses(text, steps):
    assert parse_path(text).steps == steps


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (".a", 1), ("a..b", 2), ("a.", 2), ("a[", 2), ("a]", 2), ("a[1", 2), ("a[x]", 2), ("a[1.5]", 2), ("[]a", 3),
        ("a[0]b", 5), ("a.[0]", 2), ('a[""]', 2), ("a[9999999999]", 2), ("a[--1]", 2), ("a['b']", 2),
    ],
)  # fmt: skip
def test_what_does_not_parse_is_told_where(text, place):
    with pytest.raises(OptionError, match=rf"character {place} fits nothing"):
        parse_path(text)


@pytest.mark.parametrize("text", ["", None, 3, ["a"], "a" + ".a" * MAX_STEPS])
def test_what_is_no_path_at_all(text):
    with pytest.raises(OptionError):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("label.id", 7),
        ("captions[0]", "first"),
        ("captions[-1]", "second"),
        ("captions[]", ["first", "second"]),
        ("objects[].bbox", [[1, 2, 3, 4], [5, 6, 7, 8]]),
        ("objects[].bbox[0]", [1, 5]),
        ("objects[].parts[].x", [[1, 2], []]),
        ('["a.b"]["[]"]', "quoted"),
        ("größe", 3),
        ("with space", 4),
        ("empty[].x.y", []),
        ("none", None),
    ],
)
def test_where_paths_lead(text, found):
    assert parse_path(text).of(DOCUMENT) == found


def test_paths_go_through_tensors():
    document = {"boxes": torch.arange(8).reshape(2, 4), "scalar": torch.tensor(1)}
    assert parse_path("boxes[1][0]").of(document) == 4
    assert len(parse_path("boxes[]").of(document)) == 2
    with pytest.raises(DecodeError, match=r"scalar cannot be asked for '\[0\]'.*shape \(\)"):
        parse_path("scalar[0]").of(document)


def test_paths_go_through_arrays():
    document = {"boxes": np.arange(8).reshape(2, 4)}
    np.testing.assert_array_equal(parse_path("boxes[1]").of(document), [4, 5, 6, 7])
    assert [row[0] for row in parse_path("boxes[]").of(document)] == [0, 4]
    with pytest.raises(MissingFieldError, match=r"boxes lacks '\[2\]'.*shape \(2, 4\)"):
        parse_path("boxes[2]").of(document)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("objects[].label", MissingFieldError, r"objects\[0\] lacks 'label'.*an object with bbox, parts"),
        ("objects[].parts[0].x", MissingFieldError, r"objects\[1\]\.parts lacks '\[0\]'.*a list of 0"),
        ("captions[2]", MissingFieldError, r"captions lacks '\[2\]'.*a list of 2"),
        ("captions[-3]", MissingFieldError, r"captions lacks '\[-3\]'"),
        ("none.id", MissingFieldError, r"none lacks 'id'.*null"),
        ("none[]", MissingFieldError, r"none lacks '\[\]'.*null"),
        ("nothing", MissingFieldError, r"the whole value lacks 'nothing'"),
        ("label[0]", DecodeError, r"label cannot be asked for '\[0\]'.*an object with id, name; accepted: a list"),
        ("captions.x", DecodeError, r"captions cannot be asked for 'x'.*a list of 2; accepted: an object"),
        ("objects[].parts[].x[0]", DecodeError, r"objects\[0\]\.parts\[0\]\.x cannot be asked for '\[0\]'.*got 1"),
        ("label.name[0]", DecodeError, r"label\.name cannot be asked for '\[0\]'.*got 'cat'"),
        ("label.name[]", DecodeError, r"label\.name cannot be asked for '\[\]'"),
    ],
)
def test_steps_that_cannot_be_taken_name_their_place(text, kind, said):
    with pytest.raises(kind, match=said) as caught:
        parse_path(text).of(DOCUMENT)
    assert type(caught.value) is kind
    assert repr(text) in str(caught.value)


def test_a_path_of_many_each_is_as_deep_as_it_is_long():
    path = parse_path("[]" * MAX_STEPS)
    deep = 1
    for _ in range(MAX_STEPS):
        deep = [deep]
    assert path.of(deep) == deep
