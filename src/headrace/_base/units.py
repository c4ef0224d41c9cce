"""Sizes, times and rates as people write and read them."""

from __future__ import annotations

import math
import re

from headrace.errors import OptionError

BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
DECIMAL_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")
FACTORS: dict[str, int] = (
    {unit.lower(): 1024**power for power, unit in enumerate(BINARY_UNITS)}
    | {unit.lower(): 1000**power for power, unit in enumerate(DECIMAL_UNITS)}
    | {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4, "p": 1024**5}
)


def parse_bytes(size: int | str, *, name: str = "size") -> int:
    """A number of bytes from `8589934592`, `"8GiB"`, `"8 gib"`, `"1.5GB"` (1.5e9) or `"512M"`.

    A bare letter is binary, as `du` and Docker have it.

    Args:
        size: What the user gave.
        name: The argument it was given for, named in the error.

    Raises:
        OptionError: Not a size, or negative.
    """
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    match = SIZE.fullmatch(size) if isinstance(size, str) else None
    factor = FACTORS.get(match[2].lower(), 0) if match else 0
    if match is None or factor == 0:
        raise OptionError(
            f"{name} is not a size in bytes",
            got=repr(size),
            accepted='a whole number of bytes, or a string such as "512MiB", "8GiB" or "1.5GB"',
        )
    number: str = match[1]
    return math.ceil(float(number) * factor) if "." in number else int(number) * factor


def format_bytes(size_bytes: float) -> str:
    """`1536 -> "1.5 KiB"`: at most one decimal, none from 100 on."""
    value, power = float(size_bytes), 0
    while round(abs(value), 1) >= 1024 and power < len(BINARY_UNITS) - 1:
        value, power = value / 1024, power + 1
    return f"{short_number(value) if power else f'{value:.0f}'} {BINARY_UNITS[power]}"


def format_seconds(time_s: float) -> str:
    """`0.00042 -> "420 us"`, `75 -> "1 min 15 s"`, `7260 -> "2 h 1 min"`."""
    if math.isnan(time_s) or math.isinf(time_s):
        return str(time_s)
    if time_s < 0:
        return "-" + format_seconds(-time_s)
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if time_s * factor < 999.5:
            return f"{short_number(time_s * factor)} {unit}"
    if time_s < 59.95:
        return f"{short_number(time_s)} s"
    whole = round(time_s)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(num: int, noun: str, plural: str | None = None) -> str:
    """`(1, "shard") -> "1 shard"`, `(1200, "shard") -> "1,200 shards"`, `(2, "batch", "batches") -> "2 batches"`."""
    return f"{num:,} {noun}" if num == 1 else f"{num:,} {plural or noun + 's'}"


def format_rate(per_s: float, unit: str) -> str:
    """`(12345.6, "samples") -> "12,346 samples/s"`; below 100 with one decimal."""
    return f"{per_s:,.0f} {unit}/s" if abs(per_s) >= 100 else f"{short_number(per_s)} {unit}/s"


def format_byte_rate(bytes_per_s: float) -> str:
    """`1.5e9 -> "1.4 GiB/s"`."""
    return format_bytes(bytes_per_s) + "/s"


def short_number(value: float) -> str:
    """One decimal below 100, and no decimal that is zero."""
    text = f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
    return text.removesuffix(".0")
