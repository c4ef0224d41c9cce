"""Class names in one line."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import one_line

MAX_SHOWN = 6


def class_line(names: Sequence[str]) -> str:
    """How many there are, and the first few; what a terminal would obey stands as escapes."""
    shown = ", ".join(map(one_line, names[:MAX_SHOWN]))
    return f"{len(names)}: {shown}" + (", ..." if len(names) > MAX_SHOWN else "")
