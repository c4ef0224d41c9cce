"""The native scan and the streaming reader hold the same rules, on sound shards and on damaged ones."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError, InterleavedSampleError
from headrace.shards.faults import ShardFault
from headrace.shards.names import split_name
from headrace.shards.scan import Scan, scan_bytes
from headrace.shards.stream import iterate_shard
from tests.tars import END, member, tar_of

LETTERS = st.sampled_from(["a", "b", "A", ".", "/", "_", "é", "__"])
NAMES = st.lists(LETTERS, min_size=1, max_size=8).map(lambda parts: "".join(parts).strip("/") or "a")
SAMPLE_NAMES = st.builds("{}{}.{}".format, st.sampled_from(["", "d/"]), st.sampled_from("abc"), st.sampled_from("xyX"))
LONG = st.sampled_from(["d" * 120 + "/a.x", "e" * 200 + ".y", "f/" * 140 + "b.x"])
FORMS = st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
TYPES = st.sampled_from([b"0", b"\0", b"7", b"5", b"3", b"V", b"Z"])


@st.composite
def members(draw: st.DrawFn) -> bytes:
    name = draw(st.one_of(SAMPLE_NAMES, NAMES, LONG))
    data = draw(st.binary(max_size=1200))
    kind = draw(st.one_of(st.just(b"0"), TYPES))
    if kind in b"53":
        data = b""
    return member(name, data, form=draw(FORMS), type=kind)


SHARDS = st.lists(members(), max_size=8).map(lambda parts: b"".join(parts) + END)


def from_scan(scan: Scan, data: bytes) -> list[tuple[str, dict[str, bytes]]]:
    table = scan.table.select(scan.whole)
    return [
        (table.key(i), {field: data[offset : offset + size] for field, offset, size in table.members_of(i)})
        for i in range(table.num_samples)
    ]


def what(error: HeadraceError) -> tuple[object, ...]:
    return (type(error), error.where.get("offset"), error.where.get("key"), error.where.get("field"))


def check_equal(data: bytes) -> None:
    scan = scan_bytes(data, "shard")
    faults: list[ShardFault] = []
    samples = iterate_shard(io.BytesIO(data), on_error="skip", report=faults.append)
    if scan.interleaved_key is not None:
        with pytest.raises(InterleavedSampleError):
            list(samples)
        return
    streamed = [(sample.key, dict(sample.fields)) for sample in samples]
    assert streamed == from_scan(scan, data)
    assert sorted(map(str, map(what, (f.error for f in faults)))) == sorted(
        str(what(fault.error)) for fault in scan.faults
    )


@given(SHARDS)
@settings(max_examples=150)
def test_sound_shards(data: bytes) -> None:
    check_equal(data)


@given(SHARDS, st.data())
@settings(max_examples=150)
def test_cut_shards(data: bytes, draw: st.DataObject) -> None:
    check_equal(data[: draw.draw(st.integers(0, len(data)))])


def test_a_field_twice_whose_second_bytes_are_cut() -> None:
    data = tar_of([("a.x", b"1"), ("a.x", b"2")])
    check_equal(data[: 3 * 512])


@given(SHARDS, st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=12)), min_size=1, max_size=3))
@settings(max_examples=300)
def test_damaged_shards(data: bytes, damages: list[tuple[int, bytes]]) -> None:
    damaged = bytearray(data)
    for position, noise in damages:
        start = position % len(data)
        damaged[start : start + len(noise)] = noise[: len(data) - start]
    check_equal(bytes(damaged))


@given(st.sampled_from([b"x", b"g", b"L", b"K"]), st.binary(max_size=60), st.booleans())
@settings(max_examples=200)
def test_odd_extended_headers(kind: bytes, payload: bytes, is_framed: bool) -> None:
    if is_framed and kind in b"xg":
        payload = b"%d path=%s\n" % (len(payload) + 9 + (len(payload) + 9 >= 10), payload)
    check_equal(member("ext", payload, type=kind) + tar_of([("a.x", b"1"), ("b.x", b"2")]))


@given(st.one_of(NAMES, SAMPLE_NAMES, st.text(max_size=20).filter(lambda text: text.isprintable() and text)))
@settings(max_examples=300)
def test_names_split_alike(name: str) -> None:
    raw = name.encode()[:100].decode(errors="ignore")
    table = scan_bytes(tar_of([(raw, b"")]), "shard").table
    found = None if table.num_samples == 0 else (table.key(0), table.fields[0])
    split = None if raw.endswith("/") else split_name(raw)
    assert found == split
