"""Leaves of one kind are put together; texts or bytes beside something else are refused, whatever comes first."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from headrace.datasets.collate_leaf import collate_leaf
from headrace.errors import CollateError

OTHERS = [torch.zeros(2), np.zeros(2), 3, {"a": 1}, [1, 2]]
PAIRS = [*itertools.product(["text", b"bytes"], OTHERS), ("text", b"bytes")]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_mixed_kinds_are_refused_in_every_order(pair, turned):
    rows = list(reversed(pair) if turned else pair)
    with pytest.raises(CollateError, match=r'different kinds \[field=path.*kind="image".*"list"'):
        collate_leaf(rows, "stack", "path", np.empty)


@pytest.mark.parametrize("rows", [["a", "b"], [b"a", b"b"], [b"a", None], ["a", np.str_("b")]])
def test_one_kind_is_put_together_and_absent_rows_are_none(rows):
    assert list(collate_leaf(rows, "stack", "path", np.empty)) == rows


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_the_first_row_that_differs_is_told(pair, turned):
    first, other = reversed(pair) if turned else pair
    with pytest.raises(CollateError) as caught:
        collate_leaf([first, first, other, first, other], "stack", "path", np.empty)
    assert caught.value.where["row"] == 2


def test_mixed_kinds_inside_of_values_are_refused():
    with pytest.raises(CollateError, match=r"do not fit together \[field=path.a, row=1") as caught:
        collate_leaf([{"a": "x"}, {"a": 1}], "stack", "path", np.empty)
    assert '"list"' in caught.value.remedy


def test_a_list_keeps_mixed_kinds():
    assert collate_leaf(["a", 1], "list", "path", np.empty) == ["a", 1]
