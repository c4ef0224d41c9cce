"""Names of fields in one line."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import one_line

MAX_SHOWN = 20


def field_line(names: Sequence[str]) -> str:
    """The first of them, and how many more there are; what a terminal would obey stands as escapes."""
    shown = ", ".join(map(one_line, names[:MAX_SHOWN]))
    more = len(names) - MAX_SHOWN
    return shown if more <= 0 else f"{shown} and {more:,} more (--json shows all)"
