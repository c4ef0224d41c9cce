"""What errors say of values that are still bytes, since nothing is known of their extension."""

from __future__ import annotations

from collections.abc import Sequence


def remedy_of_bytes(name: str, origin: Sequence[str] = ()) -> str:
    """How a leaf that is left as bytes is decoded.

    Args:
        name: Name of the leaf.
        origin: What it was asked for by, where that is known.
    """
    asked = ";".join(origin) or name
    return (
        f"{name!r} holds the bytes of files, since nothing is known of their extension: "
        f'headrace.field({asked!r}, kind="image") in fields= reads them as images, kind="mask" as masks'
    )
