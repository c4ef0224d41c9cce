"""Boxes and points as they come from JSON or arrays become tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from headrace._base.brief import brief
from headrace.errors import DecodeError

BOX = 4
"""Numbers of a box."""

POINT = 2
"""Numbers of a point."""

MAX_DEPTH = 8
"""Lists inside of lists that are looked into for a fault."""

LARGEST = float(np.finfo(np.float32).max)


def boxes(value: Any) -> torch.Tensor:
    """Boxes of four numbers each.

    Args:
        value: A list of boxes, an array or tensor of shape (N, 4), or one box.

    Returns:
        float32, shape (N, 4); (0, 4) where there are none. The numbers are not converted to another format.

    Raises:
        DecodeError: Another length, or something that is no finite number; the box is named.
    """
    found = as_floats(value)
    if found is not None and found.shape in ((0,), (0, BOX)):
        return torch.zeros((0, BOX))
    if found is not None and found.shape == (BOX,):
        return torch.from_numpy(found[np.newaxis])
    if found is not None and found.ndim == BOX // 2 and found.shape[-1] == BOX:
        return torch.from_numpy(found)
    raise no_coordinates(value, BOX, "boxes", "(N, 4)")


def keypoints(value: Any) -> torch.Tensor:
    """Points of two numbers each.

    Args:
        value: Lists of points, of any depth, or an array or tensor of shape (..., 2).

    Returns:
        float32, shape (..., 2): (N, K, 2) of N objects with K points each; (0, 0, 2) where there are none.

    Raises:
        DecodeError: Another length, lists that are not even, or something that is no finite number.
    """
    found = as_floats(value)
    if found is not None and found.shape == (0,):
        return torch.zeros((0, 0, POINT))
    if found is not None and found.shape[-1] == 0:  # objects without points
        return torch.zeros((*found.shape, POINT))
    if found is not None and found.shape[-1] == POINT:
        return torch.from_numpy(found)
    raise no_coordinates(value, POINT, "keypoints", "(..., 2)")


def as_floats(value: Any) -> npt.NDArray[np.float32] | None:
    """The value as float32 in memory of its own; None where it holds something else than finite numbers in even lists.

    Strings that look like numbers are none, and neither are true and false.
    """
    try:
        found = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # uneven lists; tensors that numpy cannot see
        return None
    if found.dtype.kind not in "iuf" or found.ndim == 0:
        return None
    with np.errstate(over="ignore"):  # beyond float32 becomes infinite, and is refused as such
        floats = np.array(found, dtype=np.float32)
    return floats if np.isfinite(floats).all() else None


def no_coordinates(value: Any, length: int, kind: str, shape: str) -> DecodeError:
    """The error of a value that holds no coordinates: it names the first of them that is at fault."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    place, found = first_fault(plain, length, "") or ("", uneven(plain))
    if hasattr(value, "shape") and value.shape[-1:] != (length,):
        place, found = "", f"{value.dtype} of shape {tuple(value.shape)}"
    return DecodeError(
        f"a field of kind {kind!r} does not hold {kind}" + (f": the fault is at {place}" if place else ""),
        got=found,
        accepted=f"finite numbers, {length} each, together of shape {shape}",
    )


def first_fault(value: Any, length: int, place: str, depth: int = 0) -> tuple[str, str] | None:
    """Where the first fault lies, and what stands there; None where each row of numbers is good by itself."""
    if depth > MAX_DEPTH:
        return place, brief(value)
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return place, brief(value)
    nested = [isinstance(element, Sequence) and not isinstance(element, (str, bytes)) for element in value]
    if any(nested):
        faults = (first_fault(element, length, f"{place}[{number}]", depth + 1) for number, element in enumerate(value))
        return next((fault for fault in faults if fault is not None), None)
    good = len(value) == length and all(map(is_finite, value))
    return None if good else (place, brief(value))


def is_finite(number: Any) -> bool:
    """Whether a value is a number that float32 can hold."""
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    return is_number and abs(number) <= LARGEST  # not so of NaN


def uneven(value: Any) -> str:
    """How lists of good rows are nested, where that is what is wrong."""
    try:
        return f"lists of shape {np.shape(value)}"
    except ValueError:
        return "lists of different lengths beside each other"
