import sys

import numpy as np
import pytest

from headrace._base.brief import brief


class Rude:
    def __repr__(self):
        raise RuntimeError("no")


def nested(depth):
    value = [1]
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        ("cat", "'cat'"),
        (4, "4"),
        (np.float32(1.5), "float32 "),
        (True, "True"),
        ([1, "2", None], "[1, '2', None]"),
        ({"x": 1}, "{'x': 1}"),
    ],
)
def test_small_values_are_shown_whole(value, text):
    assert brief(value).startswith(text)


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        b"x" * 10**6,
        list(range(10**6)),
        {n: n for n in range(10**5)},
        nested(10**5),
        10**5000,
        Rude(),
        set("abc"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_is_short(value):
    assert 0 < len(brief(value)) < 300


def test_depth_is_no_matter_near_the_end_of_the_stack():
    def deep(left):
        return deep(left - 1) if left else brief(nested(10**4))

    assert "..." in deep(sys.getrecursionlimit() - 400)
