"""The command `headrace verify`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from headrace._base.units import count, format_bytes
from headrace.cli.exit_codes import ExitCode
from headrace.cli.output import AsJson, progress, show
from headrace.codecs import decode_image, kind_of
from headrace.errors import one_line
from headrace.shards import Finding, VerifyReport, expand_urls, verify_shard
from headrace.shards.catalog import open_catalog
from headrace.shards.urls import INDEX_NAME

NUM_SHOWN = 20
"""Findings of one shard that are printed; `--json` has all of them."""

EXAMPLES = (
    "headrace verify shards/train",
    "headrace verify 'shards/train-{000000..000146}.tar' --decode --workers 8",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was found in all shards."""

    is_sound: bool
    """No error; with `--strict` no warning either."""
    num_shards: int
    num_samples: int
    """Whole samples."""
    size_bytes: int
    num_errors: int
    num_warnings: int
    missing: tuple[str, ...]
    """Shards that an index.json lists and that are not there."""
    shards: tuple[VerifyReport, ...]


def verify(
    shards: Annotated[list[str], typer.Argument(help="Shards: files, folders, patterns.", metavar="SHARDS")],
    *,
    decode: Annotated[bool, typer.Option("--decode", help="Also decode every image.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as faults too.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Shards that are checked at a time.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Checks shards from the first byte to the last: headers, end of archive, samples, indices and checksums.

    Nothing is changed. Exit code 0: all is well; 1: faults were found.
    """
    names = expand_urls(shards)
    reports: list[VerifyReport] = []
    work = partial(verify_shard, decode=decode_field if decode else None)
    with progress() as display, ThreadPoolExecutor(workers, thread_name_prefix="headrace-verify") as pool:
        bar = display.add_task("Checking shards", total=len(names))
        try:
            for report in pool.map(work, names):
                reports.append(report)
                display.advance(bar)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    result = judge(reports, missing_shards(shards), strict=strict)
    show(summary(result), result, as_json=as_json)
    if not result.is_sound:
        raise typer.Exit(ExitCode.FINDINGS)


def decode_field(field: str, data: bytes) -> None:
    """Decodes a field if it is an image. Raises `DecodeError` where that fails."""
    if kind_of(field) == "image":
        decode_image(data)


def missing_shards(given: Sequence[str]) -> tuple[str, ...]:
    """Shards that the index.json of a given folder lists and that are not there."""
    indices = [Path(folder, INDEX_NAME) for folder in given if Path(folder).is_dir()]
    listed = itertools.chain.from_iterable(open_catalog(index).shards for index in indices if index.exists())
    return tuple(shard.url for shard in listed if not Path(shard.url).exists())


def judge(reports: Sequence[VerifyReport], missing: tuple[str, ...], *, strict: bool) -> Verified:
    """All reports as one."""
    num_errors = sum(len(report.errors) for report in reports) + len(missing)
    num_warnings = sum(len(report.warnings) for report in reports)
    return Verified(
        is_sound=num_errors == 0 and not (strict and num_warnings),
        num_shards=len(reports),
        num_samples=sum(report.num_samples for report in reports),
        size_bytes=sum(report.size_bytes for report in reports),
        num_errors=num_errors,
        num_warnings=num_warnings,
        missing=missing,
        shards=tuple(reports),
    )


def summary(result: Verified) -> str:
    """The findings shard by shard, and how many there are."""
    lines = [
        f"{one_line(url)}\n  error    missing-shard: {INDEX_NAME} lists it, but it is not there"
        for url in result.missing
    ]
    for report in result.shards:
        if report.findings:
            lines += [one_line(report.shard), *(line_of(finding) for finding in report.findings[:NUM_SHOWN])]
        if len(report.findings) > NUM_SHOWN:
            lines.append(f"  and {len(report.findings) - NUM_SHOWN:,} more (--json shows all)")
    size = format_bytes(result.size_bytes)
    checked = f"{count(result.num_shards, 'shard')} checked, {count(result.num_samples, 'whole sample')}, {size}"
    if not result.num_errors and not result.num_warnings:
        return f"{checked}: no faults"
    errors, warnings = count(result.num_errors, "error"), count(result.num_warnings, "warning")
    return "\n".join([*lines, f"{checked}: {errors}, {warnings}"])


def line_of(finding: Finding) -> str:
    """One finding as a line."""
    where = ", ".join(
        f"{name}={one_line(str(value))}" for name, value in finding.where.items() if str(value) not in finding.message
    )
    return f"  {finding.severity:8} {finding.code}: {one_line(finding.message)}" + (f" [{where}]" if where else "")
