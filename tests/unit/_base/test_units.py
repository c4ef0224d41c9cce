import math

import pytest

from headrace._base.units import count, format_byte_rate, format_bytes, format_rate, format_seconds, parse_bytes
from headrace.errors import OptionError


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        (0, 0),
        (1 << 40, 1 << 40),
        ("123", 123),
        ("8GiB", 8 << 30),
        (" 8 gib ", 8 << 30),
        ("512M", 512 << 20),
        ("1.5GB", 1_500_000_000),
        (".5kB", 500),
        ("1.0001B", 2),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_sizes_are_read(text, size_bytes):
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize("wrong", [-1, 1.5, True, None, "", "GiB", "8 GiBs", "-8GiB", "1e9", "8GiB8", "1,5GB", "∞"])
def test_what_is_no_size_is_refused_by_name(wrong):
    with pytest.raises(OptionError, match="memory_budget is not a size") as caught:
        parse_bytes(wrong, name="memory_budget")
    assert "8GiB" in str(caught.value)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1048575, "1 MiB"), (150 << 30, "150 GiB"),
     (2**70, "1048576 PiB")],
)  # fmt: skip
def test_sizes_are_told(size_bytes, text):
    assert format_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0, "0 ns"),
        (0.00042, "420 us"),
        (0.9999, "1 s"),
        (0.0123, "12.3 ms"),
        (59.96, "1 min 0 s"),
        (75, "1 min 15 s"),
        (3599.6, "1 h 0 min"),
        (7260, "2 h 1 min"),
        (-0.5, "-500 ms"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_times_are_told(time_s, text):
    assert format_seconds(time_s) == text


def test_rates_are_told():
    assert format_rate(12345.6, "samples") == "12,346 samples/s"
    assert format_rate(3.14, "batches") == "3.1 batches/s"
    assert format_byte_rate(1.5 * 2**30) == "1.5 GiB/s"


def test_one_thing_is_not_several():
    assert [count(num, "shard") for num in (0, 1, 1200)] == ["0 shards", "1 shard", "1,200 shards"]
