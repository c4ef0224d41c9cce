"""Distinct values of a small array of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def distinct(values: npt.NDArray[np.integer[Any]]) -> list[int]:
    """The values, each once, in ascending order.

    `numpy.unique` imports `numpy.ma` when it is first called, which takes as long as decoding a batch and would fall
    into the delay of the first one.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return [int(value) for value in ordered[first]]
