"""What is taken for the number of a sample, as a list takes indices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headrace.datasets.sample_numbers import sample_numbers
from headrace.errors import OptionError

TEN = list(range(10))


@pytest.mark.parametrize(
    "given",
    [
        [1, -1, 0],
        (9, 3),
        range(2, 5),
        [],
        [True, False],
        [True, 5],
        [np.int32(3), np.uint64(4), 5],
        [torch.tensor(3), torch.tensor(-2)],
        np.array([1, 2], dtype=np.uint8),
        np.array([1, 2], dtype=np.uint64),
        torch.tensor([4, -4]),
        torch.tensor([True]),
    ],
)
def test_numbers_are_what_a_list_takes(given):
    assert sample_numbers(given, 10).tolist() == [TEN[one] for one in given]
    assert sample_numbers(given, 10).dtype == np.int64


@pytest.mark.parametrize(
    "given",
    [
        [1.5],
        [1.0],
        [1, "2"],
        ["1"],
        [None],
        [[1]],
        [slice(0, 2)],
        [np.float64(1)],
        np.array([1.5]),
        np.array([[1, 2]]),
        np.array(["1"]),
        torch.tensor([1.0]),
        [torch.tensor(1.5)],
        [torch.tensor([1, 2])],
    ],
)
def test_anything_else_is_refused_by_name(given):
    with pytest.raises(TypeError, match=r"no whole number.*accepted: integers") as caught:
        sample_numbers(given, 10)
    assert isinstance(caught.value, OptionError)


@pytest.mark.parametrize("given", [[10], [-11], [2**70], np.array([2**64 - 1], dtype=np.uint64), torch.tensor([0, 10])])
def test_samples_that_there_are_not_are_out_of_range(given):
    with pytest.raises(IndexError, match="out of range"):
        sample_numbers(given, 10)
