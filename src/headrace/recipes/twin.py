"""Makes the counted twin of a transform."""

from __future__ import annotations

import copy
from typing import Any


def twin_of(call: Any, kind: type, position: int) -> Any:
    """A shallow copy of a transform as an instance of a subclass of its own class.

    All settings come along whatever version of torchvision made them; the original is not touched.
    """
    twin = copy.copy(call)
    twin.__class__ = kind
    twin.draw_op = position
    return twin
