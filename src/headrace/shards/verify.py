"""Checking a shard against everything that docs/design/shards.md promises."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from headrace._base.os_errors import from_os_error
from headrace._base.units import count
from headrace.errors import IndexFormatError, InterleavedSampleError, SampleError, ShardChangedError
from headrace.shards.catalog import open_catalog
from headrace.shards.compressed import compression_of
from headrace.shards.faults import ShardFault
from headrace.shards.index import opened
from headrace.shards.index_file import SUFFIX, read_index
from headrace.shards.linked_bytes import pieces_of
from headrace.shards.md5 import md5_of_file
from headrace.shards.names import UNSAFE_EXTENSIONS, fault_of_key
from headrace.shards.report import Finding, VerifyReport, finding_of, warning
from headrace.shards.scan import OnProgress, Scan, scan_file
from headrace.shards.shard_info import ShardInfo
from headrace.shards.stamp import is_fresh
from headrace.shards.stream import RawSample, iterate_shard
from headrace.shards.table import IndexTable
from headrace.shards.urls import INDEX_NAME

Decode = Callable[[str, bytes], object]
"""`decode(field, data)` raises a `SampleError` where the bytes cannot be decoded."""


def verify_shard(
    path: str | os.PathLike[str], *, decode: Decode | None = None, on_progress: OnProgress | None = None
) -> VerifyReport:
    """Checks a shard, its index and its entry in the `index.json` beside it.

    Args:
        path: A shard, also a compressed one.
        decode: Called with every field of every whole sample.
        on_progress: Called with bytes done and the size of the shard.

    Returns:
        A report; faults of the shard are findings in it.

    Raises:
        SourceError: The shard is missing.
        StorageError: It cannot be read.
    """
    shard = os.fspath(path)
    if compression_of(shard) is not None:
        return verify_stream(shard, decode)
    with opened(shard) as fd:
        size = os.fstat(fd).st_size
        scan = scan_file(fd, size, shard, on_progress)
        claims = claims_about(shard, fd, scan)
        findings = [finding_of(fault.error) for fault in scan.faults]
        findings += layout_warnings(scan)
        findings += table_warnings(scan.table)
        findings += claims.findings
        digest = md5_of_file(shard) if claims.md5s else None
        findings += [wrong_md5(source, md5, digest) for source, md5 in claims.md5s.items() if md5 != digest]
        if decode is not None:
            findings += decode_findings(fd, scan, decode, on_progress)
    return VerifyReport(
        shard=shard,
        size_bytes=size,
        num_samples=int(scan.whole.sum()),
        num_members=scan.num_members,
        findings=tuple(findings),
        md5=digest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What files beside a shard say of it."""

    findings: tuple[Finding, ...]
    md5s: dict[str, str]
    """md5 by the file that claims it."""


def claims_about(shard: str, fd: int, scan: Scan) -> Claims:
    """What the index and the `index.json` beside a shard say, and where they are wrong."""
    findings: list[Finding] = []
    md5s: dict[str, str] = {}
    if os.path.exists(shard + SUFFIX):
        findings += index_findings(shard, fd, scan, md5s)
    catalog_path = os.path.join(os.path.dirname(shard), INDEX_NAME)
    if os.path.exists(catalog_path):
        findings += catalog_findings(shard, catalog_path, fd, scan, md5s)
    return Claims(findings=tuple(findings), md5s=md5s)


def index_findings(shard: str, fd: int, scan: Scan, md5s: dict[str, str]) -> Iterator[Finding]:
    """Whether the index beside the shard is valid and describes it."""
    try:
        table, head = read_index(shard + SUFFIX)
    except IndexFormatError as error:
        yield warning("bad-index", f"the index beside the shard is not usable and will be made anew: {error}")
        return
    except OSError as error:
        raise from_os_error(error, "a shard index cannot be read", shard + SUFFIX) from error
    if not is_fresh(head.stamp, fd, shard, table.offsets) or not same_table(table, scan.table):
        yield warning("stale-index", "the index beside the shard describes another state of it; index the shard anew")
    elif head.md5 is not None:
        md5s[SUFFIX] = head.md5


def catalog_findings(shard: str, path: str, fd: int, scan: Scan, md5s: dict[str, str]) -> Iterator[Finding]:
    """Whether the index.json beside the shard gives its count and size."""
    try:
        shards = open_catalog(path).shards
    except IndexFormatError as error:
        yield finding_of(error)
        return
    entry = next((info for info in shards if os.path.normpath(info.url) == os.path.normpath(shard)), None)
    if entry is None:
        yield warning("not-listed", f"{INDEX_NAME} beside the shard does not list it")
        return
    yield from (finding_of(error) for error in contradictions(entry, os.fstat(fd).st_size, scan))
    if entry.md5 is not None:
        md5s[INDEX_NAME] = entry.md5


def contradictions(entry: ShardInfo, size_bytes: int, scan: Scan) -> Iterator[ShardChangedError]:
    """Where an entry of an index.json differs from the shard."""
    remedy = "Index the dataset anew (`headrace index`), or restore the shard"
    for what, found, stated in (
        ("samples", scan.table.num_samples, entry.num_samples),
        ("bytes", size_bytes, entry.size_bytes),
    ):
        if found != stated:
            message = f"a shard holds another number of {what} than {INDEX_NAME} says"
            yield ShardChangedError(message, got=found, accepted=stated, remedy=remedy)


def same_table(left: IndexTable, right: IndexTable) -> bool:
    """Whether two tables describe the same samples, whatever numbers they give to fields."""
    if left.num_samples != right.num_samples or left.num_members != right.num_members:
        return False
    names = ("sample_starts", "offsets", "sizes", "keys", "key_starts")
    if not all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names):
        return False
    return np.array_equal(np.array(left.fields)[left.field_ids], np.array(right.fields)[right.field_ids])


def wrong_md5(source: str, stated: str, found: str | None) -> Finding:
    """The finding for a checksum that does not hold."""
    message = f"the md5 of the shard is {found}, but {source} says {stated}: restore the shard, or index it anew"
    return Finding(severity="error", code="wrong-md5", message=message)


def layout_warnings(scan: Scan) -> Iterator[Finding]:
    """What is unwise in how the shard is laid out."""
    if scan.num_archives > 1:
        archives = count(scan.num_archives, "archive")
        message = f"{archives} lie one after another in the shard: other tools read only the first"
        yield warning("several-archives", message)
    if scan.interleaved_key is not None:
        message = "the members of a key lie apart: the shard cannot be read as a stream; pack it anew"
        yield warning("interleaved", message, key=scan.interleaved_key)
    if scan.table.num_samples == 0 and not scan.faults:
        yield warning("no-samples", "the shard holds no samples")


def table_warnings(table: IndexTable) -> Iterator[Finding]:
    """What is unwise in keys and fields."""
    reasons: dict[str, list[str]] = {}
    for sample in range(table.num_samples):
        key = table.key(sample)
        reason = fault_of_key(key)
        if reason is not None:
            reasons.setdefault(reason, []).append(key)
    for reason, keys in reasons.items():
        message = f"{count(len(keys), 'key')} could not be written by headrace ({reason}), for example {keys[0]!r}"
        yield warning("odd-key", message, key=keys[0])
    for field in table.fields:
        if field.rpartition(".")[2] in UNSAFE_EXTENSIONS:
            yield warning("unsafe-field", "a field of this kind can run code when it is read", field=field)
    yield from missing_fields(table)


def missing_fields(table: IndexTable) -> Iterator[Finding]:
    """Fields that most samples have and some lack."""
    counts = np.bincount(table.field_ids, minlength=len(table.fields))
    for number, having in enumerate(counts):
        missing = table.num_samples - int(having)
        if 0 < missing < having:
            _, _, choices = table.locate(np.arange(table.num_samples), np.array([number], dtype=np.uint32))
            key = table.key(int(np.argmin(choices)))
            message = f"a field is missing in {missing} of {count(table.num_samples, 'sample')}"
            yield warning("missing-field", message, key=key, field=table.fields[number])


def decode_findings(fd: int, scan: Scan, decode: Decode, on_progress: OnProgress | None) -> Iterator[Finding]:
    """Decodes every field of every whole sample."""
    samples = np.flatnonzero(scan.whole)
    for number, sample in enumerate(samples):
        key = scan.table.key(int(sample))
        fields = {
            field: b"".join(pieces_of(fd, offset, size)) for field, offset, size in scan.table.members_of(int(sample))
        }
        yield from faults_of(RawSample(key=key, fields=fields), decode)
        if on_progress is not None:
            on_progress(number + 1, len(samples))


def faults_of(sample: RawSample, decode: Decode) -> Iterator[Finding]:
    """The fields of one sample that cannot be decoded."""
    for field, data in sample.fields.items():
        try:
            decode(field, data)
        except SampleError as error:
            error.at(key=sample.key, field=field)
            yield finding_of(error)


def verify_stream(shard: str, decode: Decode | None) -> VerifyReport:
    """Checks a compressed shard, in one pass."""
    faults: list[ShardFault] = []
    findings: list[Finding] = []
    num_samples = num_members = 0
    try:
        for sample in iterate_shard(shard, on_error="skip", report=faults.append):
            num_samples += 1
            num_members += len(sample.fields)
            if decode is not None:
                findings.extend(faults_of(sample, decode))
    except InterleavedSampleError as error:
        findings.append(finding_of(error))
    return VerifyReport(
        shard=shard,
        size_bytes=os.stat(shard).st_size,
        num_samples=num_samples,
        num_members=num_members,
        findings=(*(finding_of(fault.error) for fault in faults), *findings),
    )
