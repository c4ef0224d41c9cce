"""Shrunken images wait in a spool until the sizes of all are known, so that the shards can be cut evenly.

The spool is a folder of segments beside the shards. A segment holds the images of so many consecutive samples of the
packing order, end to end, and beside it a line of JSON that is written when the segment is complete: what an
interrupted run has finished is not done again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xxhash

from headrace._base.os_errors import from_os_error
from headrace.contracts import I64
from headrace.errors import CorruptImageError, SourceError
from headrace.pack.ahead import ahead
from headrace.pack.batches import Content, read_batch, split
from headrace.pack.catalog import Catalog, Part
from headrace.pack.faults import writing
from headrace.pack.options import ResizeOptions
from headrace.pack.shrink import is_candidate, shrink_jpeg

SEGMENT_SAMPLES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A finished segment."""

    rows: list[int]
    """Rows of the catalog's part columns whose bytes lie here."""
    sizes: list[int]
    checksum: str
    """xxh3 of the segment, 32 hex digits."""
    num_damaged: int = 0
    """Images that could not be decoded and are packed as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What has become of a catalog."""

    catalog: Catalog
    num_resized: int
    num_damaged: int


def shrink_all(
    catalog: Catalog,
    order: I64,
    folder: Path,
    options: ResizeOptions,
    num_workers: int,
    on_done: Callable[[int, int], None],
) -> Shrunk:
    """Shrinks the images of a catalog into the spool; the catalog that comes back points there.

    Args:
        catalog: What is to be packed.
        order: Samples in the order of packing.
        folder: The spool.
        options: How images are shrunk.
        num_workers: Threads that read, decode and encode.
        on_done: Called with (samples done, bytes in the spool).
    """
    with writing(folder):
        folder.mkdir(exist_ok=True)
    segments: list[Segment] = []
    size_bytes = 0
    for first in range(0, len(order), SEGMENT_SAMPLES):
        samples = order[first : first + SEGMENT_SAMPLES]
        data, note = folder / f"{len(segments):06d}.bin", folder / f"{len(segments):06d}.json"
        segment = load(data, note)
        if segment is None:
            segment = make(catalog, samples, data, note, options, num_workers)
        segments.append(segment)
        size_bytes += sum(segment.sizes)
        on_done(first + len(samples), size_bytes)
    return Shrunk(
        catalog=redirect(catalog, segments, folder),
        num_resized=sum(len(segment.rows) for segment in segments),
        num_damaged=sum(segment.num_damaged for segment in segments),
    )


def load(data: Path, note: Path) -> Segment | None:
    """The segment that an earlier run has finished, if its bytes are those that it wrote."""
    try:
        segment = Segment(**json.loads(note.read_bytes()))
        digest = xxhash.xxh3_128(data.read_bytes()).hexdigest()
    except (OSError, ValueError, TypeError):
        return None
    return segment if digest == segment.checksum else None


def make(catalog: Catalog, samples: I64, data: Path, note: Path, options: ResizeOptions, num_workers: int) -> Segment:
    """Shrinks the images of one segment and writes it."""

    def work(batch: I64) -> tuple[list[tuple[int, bytes]], int]:
        return shrink_batch(catalog, batch, options)

    rows, sizes, num_damaged, digest = [], [], 0, xxhash.xxh3_128()
    with writing(data), data.open("wb") as file:
        for images, num_bad in ahead(work, split(catalog, samples), num_workers=num_workers, num_ahead=2 * num_workers):
            num_damaged += num_bad
            for row, image in images:
                rows.append(row)
                sizes.append(len(image))
                digest.update(image)
                file.write(image)
        file.flush()
        os.fsync(file.fileno())
    segment = Segment(rows=rows, sizes=sizes, checksum=digest.hexdigest(), num_damaged=num_damaged)
    with writing(note):
        note.write_text(
            json.dumps({"rows": rows, "sizes": sizes, "checksum": segment.checksum, "num_damaged": num_damaged})
        )
    return segment


def shrink_batch(catalog: Catalog, samples: I64, options: ResizeOptions) -> tuple[list[tuple[int, bytes]], int]:
    """(row of the part columns, new bytes) of each image that shrinks, and how many are damaged."""
    batch = read_batch(catalog, samples)
    images, num_damaged = [], 0
    for sample, parts in zip(samples.tolist(), batch.parts, strict=True):
        first = int(catalog.starts[sample])
        for row, (field, data) in enumerate(parts.items(), first):
            if not is_candidate(field):
                continue
            try:
                image = shrink_jpeg(at_hand(data), options)
            except CorruptImageError as error:
                if options.damaged == "raise":
                    raise damaged(catalog, sample, row, error) from error
                num_damaged += 1
                continue
            if image is not None:
                images.append((row, image))
    return images, num_damaged


def at_hand(content: Content) -> memoryview | bytes:
    """The bytes of a field, a large one read now."""
    if not isinstance(content, Part):
        return content
    path = Path(str(content.path))
    try:
        with path.open("rb") as file:
            file.seek(content.offset)
            return file.read(content.size_bytes)
    except OSError as error:
        raise from_os_error(error, "a file of the source cannot be read", path, stage="pack") from error


def damaged(catalog: Catalog, sample: int, row: int, error: CorruptImageError) -> SourceError:
    """The error of an image that cannot be decoded, naming its file."""
    return SourceError(
        "an image of the source cannot be decoded for resizing",
        got=error.got,
        path=catalog.part(row).path,
        key=catalog.keys[sample],
        field=catalog.part(row).field,
        remedy="Mend or remove the file, or pass --keep-damaged (damaged='keep') to pack its bytes as they are.",
    )


def redirect(catalog: Catalog, segments: list[Segment], folder: Path) -> Catalog:
    """The catalog with the shrunken images' parts pointing into the spool."""
    sizes, offsets = catalog.sizes.copy(), catalog.offsets.copy()
    file_ids, whole = catalog.file_ids.copy(), catalog.whole.copy()
    paths = list(catalog.paths)
    for number, segment in enumerate(segments):
        rows = np.array(segment.rows, dtype=np.int64)
        ends = np.cumsum(np.array(segment.sizes, dtype=np.int64))
        sizes[rows], offsets[rows] = segment.sizes, ends - segment.sizes
        file_ids[rows], whole[rows] = len(paths), False
        paths.append(str(folder.absolute() / f"{number:06d}.bin"))
    return replace(catalog, sizes=sizes, offsets=offsets, file_ids=file_ids, whole=whole, paths=paths)


def names(folder: Path) -> Iterator[Path]:
    """The files of a spool, for removing them."""
    yield from folder.glob("[0-9]*.bin")
    yield from folder.glob("[0-9]*.json")


def remove(folder: Path) -> None:
    """Removes a spool and what is in it."""
    if folder.is_dir():
        for path in names(folder):
            path.unlink()
        folder.rmdir()
