"""The samples of a source as columns: what is to be packed, before anything of it is read."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

from headrace.contracts import I64

INLINE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One field of one sample: a range of a file, or bytes at hand."""

    field: str
    size_bytes: int
    path: str | None
    """None where `data` is at hand."""
    offset: int = 0
    whole: bool = True
    """The part is its whole file, whose size must still be `size_bytes` when it is read."""
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Samples in source order. Parts of sample i are rows `starts[i]` to `starts[i + 1]` of the part columns."""

    keys: Sequence[str]
    starts: I64
    """Shape (samples + 1,)."""
    fields: Sequence[str]
    """Names that `field_ids` point to."""
    field_ids: npt.NDArray[np.int32]
    sizes: I64
    """Size of each part in bytes."""
    offsets: I64
    """Where each part begins in its file; for inline parts the row in `inline`."""
    file_ids: I64
    """Row in `paths` and `mtimes_ns`, or -1 for inline parts."""
    whole: npt.NDArray[np.bool_]
    """Whether the part is its whole file."""
    root: str
    """Absolute path of the folder that `paths` are relative to, where they are not absolute themselves."""
    paths: Sequence[str]
    mtimes_ns: I64
    inline: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, row: int) -> Part:
        """One row of the part columns as a value."""
        name, size = self.fields[self.field_ids[row]], int(self.sizes[row])
        offset, file_id = int(self.offsets[row]), int(self.file_ids[row])
        if file_id == INLINE:
            return Part(field=name, size_bytes=size, path=None, data=self.inline[offset])
        path, whole = self.path(file_id), bool(self.whole[row])
        return Part(field=name, size_bytes=size, path=path, offset=offset, whole=whole)

    def path(self, file_id: int) -> str:
        """The path of a file: below the root, unless it is absolute."""
        return os.path.join(self.root, self.paths[file_id])  # noqa: PTH118 - once a file

    def parts(self, sample: int) -> list[Part]:
        """The fields of a sample, in the order in which they are written."""
        return [self.part(row) for row in range(self.starts[sample], self.starts[sample + 1])]

    def digest(self) -> str:
        """xxh3 of all that the packed bytes depend on, as 32 hex digits.

        File times stand for the contents of the files; the place of the source is left out, so that it may be moved.
        """
        digest = xxhash.xxh3_128()
        for texts in (self.keys, self.fields, self.paths):
            digest.update("\0".join(texts).encode("utf-8", "surrogateescape") + b"\0\0")
        for column in (self.starts, self.field_ids, self.sizes, self.offsets, self.file_ids, self.mtimes_ns):
            digest.update(np.ascontiguousarray(column).tobytes())
        for data in self.inline:
            digest.update(data)
        return digest.hexdigest()


class CatalogBuilder:
    """Collects samples one after another; `build` gives the columns.

    Args:
        root: Absolute path of the folder that all paths are relative to.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.keys: list[str] = []
        self.starts = array("q", [0])
        self.field_of: dict[str, int] = {}
        self.field_ids = array("i")
        self.sizes = array("q")
        self.offsets = array("q")
        self.file_ids = array("q")
        self.whole = array("b")
        self.paths: list[str] = []
        self.mtimes_ns = array("q")
        self.inline_of: dict[bytes, int] = {}

    def add_file(self, field: str, path: str, size_bytes: int, mtime_ns: int) -> None:
        """A whole file as the next field of the sample at hand."""
        self.paths.append(path)
        self.mtimes_ns.append(mtime_ns)
        self.add_part(field, size_bytes, 0, len(self.paths) - 1, whole=True)

    def open_file(self, path: str, mtime_ns: int) -> int:
        """Registers a file of which ranges are packed; returns its row."""
        self.paths.append(path)
        self.mtimes_ns.append(mtime_ns)
        return len(self.paths) - 1

    def add_range(self, field: str, file_id: int, offset: int, size_bytes: int) -> None:
        """A range of a registered file as the next field of the sample at hand."""
        self.add_part(field, size_bytes, offset, file_id, whole=False)

    def add_bytes(self, field: str, data: bytes) -> None:
        """Bytes at hand as the next field of the sample at hand; equal ones are kept once."""
        row = self.inline_of.setdefault(data, len(self.inline_of))
        self.add_part(field, len(data), row, INLINE, whole=True)

    def add_part(self, field: str, size_bytes: int, offset: int, file_id: int, *, whole: bool) -> None:
        """One row of the part columns."""
        self.field_ids.append(self.field_of.setdefault(field, len(self.field_of)))
        self.sizes.append(size_bytes)
        self.offsets.append(offset)
        self.file_ids.append(file_id)
        self.whole.append(whole)

    def end_sample(self, key: str) -> None:
        """Closes the sample at hand under its key."""
        self.keys.append(key)
        self.starts.append(len(self.sizes))

    def build(self) -> Catalog:
        """The columns, as arrays that nobody appends to any more."""
        return Catalog(
            keys=self.keys,
            starts=np.array(self.starts, dtype=np.int64),
            fields=tuple(self.field_of),
            field_ids=np.array(self.field_ids, dtype=np.int32),
            sizes=np.array(self.sizes, dtype=np.int64),
            offsets=np.array(self.offsets, dtype=np.int64),
            file_ids=np.array(self.file_ids, dtype=np.int64),
            whole=np.array(self.whole, dtype=np.bool_),
            root=self.root,
            paths=self.paths,
            mtimes_ns=np.array(self.mtimes_ns, dtype=np.int64),
            inline=tuple(self.inline_of),
        )
