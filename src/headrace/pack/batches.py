"""Reads the parts of many samples at once, straight into one buffer, without the GIL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headrace.contracts import I64, U8
from headrace.errors import SourceError
from headrace.pack.catalog import INLINE, Catalog, Part
from headrace.shards import open_all

BATCH_BYTES = 8 << 20
BATCH_FILES = 128
"""Open at once by each worker; a process may have 256 open files on macOS."""


LARGE_BYTES = 4 << 20
"""Parts from this size on are not read ahead: the kernel copies them from file to file."""

Content: TypeAlias = memoryview | bytes | Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Samples whose bytes are at hand, except for large ones."""

    samples: I64
    """Rows of the catalog, in the order of packing."""
    parts: list[dict[str, Content]]
    """Field -> bytes of each sample, or where to find them."""
    size_bytes: int


def split(catalog: Catalog, samples: I64) -> Iterator[I64]:
    """Cuts samples, in the order of packing, into batches that are read at once: by bytes and by number of files."""
    sample_bytes = np.add.reduceat(catalog.sizes, catalog.starts[:-1])[samples]
    num_parts = np.diff(catalog.starts)[samples]
    weights = np.maximum(sample_bytes / BATCH_BYTES, num_parts / BATCH_FILES)
    turn = np.floor(np.cumsum(weights)).astype(np.int64)
    firsts = np.flatnonzero(np.diff(turn, prepend=0)) if len(samples) else np.empty(0, dtype=np.int64)
    yield from (piece for piece in np.split(samples, firsts) if len(piece))


def part_rows(catalog: Catalog, samples: I64) -> I64:
    """Rows of the part columns that belong to these samples, sample by sample."""
    firsts, counts = catalog.starts[samples], np.diff(catalog.starts)[samples]
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(int(ends[-1]), dtype=np.int64)


def read_batch(catalog: Catalog, samples: I64) -> Batch:
    """The bytes of these samples.

    Raises:
        SourceError: A file has gone or has another size than when it was listed.
        StorageError: A file cannot be opened or read.
    """
    rows = part_rows(catalog, samples)
    is_large = (catalog.file_ids[rows] != INLINE) & (catalog.sizes[rows] >= LARGE_BYTES)
    small = rows[(catalog.file_ids[rows] != INLINE) & ~is_large]
    ends = np.concatenate([[0], np.cumsum(catalog.sizes[small])])
    buffer = np.empty(int(ends[-1]), dtype=np.uint8)
    read_parts(catalog, small, buffer, ends[:-1])
    view = buffer.data.toreadonly()
    contents: dict[int, Content] = {
        row: view[start:end] for row, start, end in zip(small.tolist(), ends.tolist(), ends[1:].tolist(), strict=False)
    }
    contents |= {row: catalog.part(row) for row in rows[is_large].tolist()}
    return Batch(
        samples=samples,
        parts=[fields_of(catalog, sample, contents) for sample in samples.tolist()],
        size_bytes=int(catalog.sizes[rows].sum()),
    )


def fields_of(catalog: Catalog, sample: int, contents: dict[int, Content]) -> dict[str, Content]:
    """Field -> bytes of one sample, or where to find them."""
    fields: dict[str, Content] = {}
    for row in range(catalog.starts[sample], catalog.starts[sample + 1]):
        content = contents.get(row)
        fields[catalog.fields[catalog.field_ids[row]]] = (
            catalog.inline[catalog.offsets[row]] if content is None else content
        )
    return fields


def read_parts(catalog: Catalog, rows: I64, buffer: U8, starts: I64) -> None:
    """Fills the buffer with the parts that lie in files; part i begins at `starts[i]`."""
    file_ids, which = np.unique(catalog.file_ids[rows], return_inverse=True)
    with open_all([catalog.path(file_id) for file_id in file_ids.tolist()]) as files:
        changed = np.flatnonzero(catalog.whole[rows] & (files.sizes[which] != catalog.sizes[rows]))
        if len(changed):
            raise other_size(files.paths[which[changed[0]]])
        addresses = np.uint64(buffer.ctypes.data) + starts.astype(np.uint64)
        files.read(which, catalog.offsets[rows], catalog.sizes[rows], addresses)


def other_size(path: str) -> SourceError:
    """The error of a file that has changed under our hands."""
    return SourceError(
        "a file of the source has changed while it was packed",
        path=path,
        stage="pack",
        remedy="Pack again with --overwrite once nobody writes to the source.",
    )
