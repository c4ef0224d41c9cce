"""Sample numbers as users write them, as integers from 0."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace._base.brief import brief
from headrace.contracts import I64
from headrace.errors import OptionTypeError

WHOLE = "iub"
"""Kinds of numpy's types whose values are whole numbers; a bool is 0 or 1, as it is to a list."""


def sample_numbers(given: Any, num_samples: int) -> I64:
    """The numbers of samples, shape (numbers,): what a list takes as an index, -1 the last one.

    Args:
        given: Integers of Python, numpy or torch, in a sequence, an array or a tensor.
        num_samples: How many samples there are.

    Raises:
        OptionTypeError: One of them is no whole number (a float, a text, None).
        IndexError: There is no such sample.
    """
    numbers = whole_numbers(given)
    found = np.where(numbers < 0, numbers + num_samples, numbers)
    lost = np.flatnonzero((found < 0) | (found >= num_samples))
    if len(lost):
        raise out_of_range(numbers[lost[0]], num_samples)
    return found


def whole_numbers(given: Any) -> I64:
    """The same before they are compared with the number of samples."""
    array = given if isinstance(given, np.ndarray) else as_array(given)
    if array is not None and array.ndim == 1 and array.dtype.kind in WHOLE and array.dtype != np.uint64:
        return array.astype(np.int64)
    return np.fromiter(map(whole_number, given), dtype=np.int64)


def as_array(given: Sequence[Any]) -> np.ndarray[Any, Any] | None:
    """A sequence of plain integers as an array, sooner than one by one; None where others are among them."""
    return np.asarray(given) if set(map(type, given)) == {int} else None


def whole_number(one: Any) -> int:
    """One number."""
    try:
        number = operator.index(one)
    except TypeError:
        raise OptionTypeError(
            "a sample is asked for by something that is no whole number",
            got=f"{brief(one)} ({type(one).__name__})",
            accepted="integers of Python, numpy or torch; -1 is the last sample",
            remedy="Convert the indices to integers first: torch.as_tensor(indices).long().tolist()",
        ) from None
    if not -(2**63) <= number < 2**63:
        raise IndexError(f"sample {number} is out of range")
    return number


def out_of_range(number: Any, num_samples: int) -> IndexError:
    """What a number says that no sample has."""
    return IndexError(f"sample {number} is out of range: there are {num_samples:,}")
