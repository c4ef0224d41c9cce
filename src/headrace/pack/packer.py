"""Packs a source into shards."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

import xxhash

from headrace._base.machine import affinity_cpus
from headrace._base.units import count
from headrace.errors import SourceError
from headrace.pack import destination as place
from headrace.pack import spool
from headrace.pack.advice import advise
from headrace.pack.catalog import Catalog
from headrace.pack.destination import Destination
from headrace.pack.journal import Finished, Journal
from headrace.pack.keys import check_names
from headrace.pack.options import PackOptions
from headrace.pack.plan import make_plan, packing_order
from headrace.pack.progress import Meter
from headrace.pack.report import OnProgress, PackReport
from headrace.pack.source import Scan
from headrace.pack.sources import choose
from headrace.pack.spool import Shrunk
from headrace.pack.write import write_shards
from headrace.sources.kinds import SourceKind

LEAST_WORKERS = 2


def pack(
    source: str, destination: str, options: PackOptions | None = None, *, on_progress: OnProgress | None = None
) -> PackReport:
    """Packs a source into shards, with their indices and a dataset index.

    The same source and options give the same bytes. Stopped at any point, the same call goes on where it stopped.

    Args:
        source: A folder tree of classes, a folder of sibling files, a list, or shards.
        destination: Folder of the shards; made where it is not there.
        options: How to pack.
        on_progress: Called now and then, from the calling thread.

    Raises:
        SourceError: The source is missing, empty or contradicts itself, or the destination holds something else.
        KeyRefusedError: A sample's key would read back differently.
        ShardError: A shard of the source is damaged.
        DiskFullError: No space is left; the shards that are finished stay.
        StorageError: A file cannot be read or written.
    """
    started_s = time.perf_counter()
    options, meter = options or PackOptions(), Meter(on_progress)
    kind, reason = choose(source, options)
    scan = kind.scan(source, options, meter.listed)
    check_names(scan.catalog, options.allow_pickle)
    keep_apart(source, destination, kind.kind)
    target = place.make(destination, options.name)
    with Journal(target.journal, fingerprint(scan.catalog, options)) as journal:
        target.sweep()
        claimed = place.claim(target, journal, overwrite=options.overwrite)
        kept = place.still_whole(target.folder, claimed, meter.checked(claimed))
        finished, shrunk = complete(scan.catalog, target, journal, kept, options, meter)
        target.publish(finished, scan.catalog.fields, scan.class_names)
        spool.remove(target.spool)
    return PackReport(
        destination=destination,
        kind=kind.kind,
        kind_reason=reason,
        shards=tuple(entry.shard for entry in finished),
        num_samples=len(scan.catalog),
        size_bytes=sum(entry.size_bytes for entry in finished),
        fields=tuple(sorted(scan.catalog.fields)),
        class_names=scan.class_names,
        num_kept_shards=len(kept),
        num_ignored=scan.num_ignored,
        num_resized=shrunk.num_resized if shrunk else None,
        wall_s=time.perf_counter() - started_s,
        notes=notes(scan, finished, shrunk, options),
    )


def complete(
    catalog: Catalog,
    target: Destination,
    journal: Journal,
    kept: dict[str, Finished],
    options: PackOptions,
    meter: Meter,
) -> tuple[list[Finished], Shrunk | None]:
    """Writes the shards that are not finished yet; all shards in their order, and what became of the images."""
    if sum(entry.num_samples for entry in kept.values()) == len(catalog):
        return sorted(kept.values(), key=attrgetter("shard")), None
    num_workers = options.num_workers or max(LEAST_WORKERS, affinity_cpus())
    journal.begin(list(kept.values()))
    order, shrunk = packing_order(len(catalog), options), None
    if options.resize is not None:
        on_done = meter.resized(len(catalog))
        shrunk = spool.shrink_all(catalog, order, target.spool, options.resize, num_workers, on_done)
        catalog = shrunk.catalog
    finished = write_shards(
        catalog,
        make_plan(catalog, order, options),
        target,
        journal,
        kept,
        allow_pickle=options.allow_pickle,
        num_workers=num_workers,
        meter=meter,
    )
    if journal.read()[1] != finished:
        journal.begin(finished)
    return finished, shrunk


def keep_apart(source: str, destination: str, kind: SourceKind) -> None:
    """Refuses a destination that would become part of its own source."""
    inside = Path(destination).resolve().is_relative_to(Path(source).resolve())
    if inside and kind != "list":
        raise SourceError(
            "the destination lies inside of the source, which would then hold the shards too",
            got=destination,
            path=source,
            remedy="Name a folder beside the source.",
        )


def fingerprint(catalog: Catalog, options: PackOptions) -> str:
    """Identifies what is packed and how, 32 hex digits: everything that the bytes of the shards depend on."""
    asked = {
        "catalog": catalog.digest(),
        "name": options.name,
        "shard_size_bytes": options.shard_size_bytes,
        "samples_per_shard": options.samples_per_shard,
        "shuffle_seed": options.shuffle_seed if options.shuffle else None,
        "resize": asdict(options.resize) if options.resize else None,
    }
    return xxhash.xxh3_128(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def notes(scan: Scan, finished: Sequence[Finished], shrunk: Shrunk | None, options: PackOptions) -> tuple[str, ...]:
    """What the user should know."""
    found = list(scan.notes)
    if shrunk is not None and shrunk.num_damaged:
        found.append(f"{count(shrunk.num_damaged, 'image')} could not be decoded: packed unchanged")
    if options.resize is not None:
        images = sorted(name for name in scan.catalog.fields if "." in name)
        if images:
            found.append(f"only JPEGs are resized: {', '.join(images)} keep their size")
    if not options.shuffle:
        found.append("packed in source order: windows of shards are then as one-sided as the source is")
    return (*found, *advise([entry.size_bytes for entry in finished], options.num_ranks))
