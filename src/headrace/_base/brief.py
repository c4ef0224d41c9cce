"""What a value from a stranger looks like in an error: short, whatever its size and depth."""

from __future__ import annotations

import reprlib
from typing import Any

TOLD_BY_LOOK = (type(None), bool, int, float, str, bytes, list, tuple, dict)
"""Types that a value is seen to be of when it is written."""


def brief(value: Any) -> str:
    """The beginning of a value, and its type where that does not show.

    Never raises, and never writes out a large value to cut it short afterwards.
    """
    try:
        text = SHORT.repr(value)
    except ValueError:  # an int of thousands of digits, which Python refuses to write
        text = "of very many digits"
    return text if type(value) in TOLD_BY_LOOK else f"{type(value).__name__} {text}"


def _short() -> reprlib.Repr:
    short = reprlib.Repr()
    short.maxlevel = 3
    short.maxstring = short.maxother = short.maxlong = 60
    return short


SHORT = _short()
