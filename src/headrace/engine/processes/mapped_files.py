"""Memory of this process that is a file, or that is shared on purpose: workers map the same, rather than a copy of it.

That is what a forked process would see: the pages of `numpy.memmap`, of tensors after `share_memory_()`, of
`multiprocessing.Array` and `SharedMemory`. A set of tokens that is larger than all memory stays on disk, and what one
process writes, all of them read.
"""

from __future__ import annotations

import bisect
import contextlib
import mmap
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from headrace.contracts import U8
from headrace.errors import StorageError

MAPS = Path("/proc/self/maps")
OPEN_FILES = Path("/proc/self/fd")
OURS = "/memfd:headrace"
"""Ranges of our own files are used again, and must not be looked at by others meanwhile."""
NUM_COLUMNS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedFile:
    """A part of a file that lies in the memory of this process, and is shared with all who map it."""

    address: int
    """Where it lies here."""
    size_bytes: int
    path: str
    """Where processes of this user open it; under /proc for files that have no name any more."""
    device: int
    inode: int
    offset: int
    """Of its first byte in the file."""
    is_writable: bool

    def mapped(self) -> U8:
        """The same part in the memory of the process that asks, shape (size_bytes,).

        Raises:
            StorageError: The file is not there any more.
        """
        try:
            fd = os.open(self.path, (os.O_RDWR if self.is_writable else os.O_RDONLY) | os.O_CLOEXEC)
        except OSError as error:
            raise self.is_gone(str(error)) from error
        try:
            facts = os.fstat(fd)
            if (facts.st_dev, facts.st_ino) != (self.device, self.inode):
                raise self.is_gone("another file stands in its place")
            flags = mmap.MAP_SHARED if self.is_writable else mmap.MAP_PRIVATE  # torch warns of what is for reading only
            access = mmap.PROT_READ | mmap.PROT_WRITE
            memory = mmap.mmap(fd, self.size_bytes, flags=flags, prot=access, offset=self.offset)
            return np.frombuffer(memory, dtype=np.uint8)
        except (OSError, ValueError) as error:
            raise self.is_gone(str(error)) from error
        finally:
            os.close(fd)

    def is_gone(self, why: str) -> StorageError:
        """The error of a file that cannot be mapped."""
        return StorageError(
            "a file that the dataset maps into memory cannot be mapped by a worker",
            got=why,
            accepted="the file that the dataset was made with",
            remedy="Leave it where it is as long as the loader lives.",
            path=self.path,
        )


class MappedFiles:
    """Shared parts of files in the memory of this process, as they are now; none where there is no /proc.

    Args:
        files: In the order of their addresses.
    """

    def __init__(self, files: Sequence[MappedFile]) -> None:
        self.files = files
        self.addresses = [file.address for file in files]

    def find(self, address: int, size_bytes: int) -> MappedFile | None:
        """The part in which these bytes lie."""
        number = bisect.bisect_right(self.addresses, address) - 1
        if number < 0 or size_bytes == 0:
            return None
        file = self.files[number]
        return file if address + size_bytes <= file.address + file.size_bytes else None


def mapped_files() -> MappedFiles:
    """What of this process's memory others can map."""
    try:
        lines = MAPS.read_bytes().decode(errors="surrogateescape").splitlines()
    except OSError:
        return MappedFiles(())
    opened = cache(opened_files)
    found = (mapped_file(line, opened) for line in lines)
    return MappedFiles(list(joined(file for file in found if file is not None)))


def mapped_file(line: str, opened: Callable[[], Mapping[str, Sequence[str]]]) -> MappedFile | None:
    """What a line of /proc/self/maps tells; None where that is no shared part of a file which others can open.

    Args:
        line: Addresses, permissions, offset, device, inode, name.
        opened: Gives `opened_files()`.
    """
    columns = line.split(None, NUM_COLUMNS - 1)
    if len(columns) < NUM_COLUMNS or "s" not in columns[1] or columns[5].startswith(OURS):
        return None
    start, end = (int(number, 16) for number in columns[0].split("-"))
    offset, inode, is_writable = int(columns[2], 16), int(columns[4]), "w" in columns[1]
    has_name = columns[5].startswith("/") and not columns[5].endswith(" (deleted)")
    for path in (columns[5],) if has_name else opened().get(columns[5], ()):
        with contextlib.suppress(OSError, ValueError):
            facts = Path(path).stat()
            if facts.st_ino == inode and os.access(path, os.R_OK | (os.W_OK if is_writable else 0)):
                return MappedFile(
                    address=start,
                    size_bytes=min(end - start, facts.st_size - offset),
                    path=path,
                    device=facts.st_dev,  # the line tells another one where file systems are stacked
                    inode=inode,
                    offset=offset,
                    is_writable=is_writable,
                )
    return None


def opened_files() -> dict[str, list[str]]:
    """Where files that this process has open can be opened by others, by what the system calls them."""
    found = defaultdict(list)
    with contextlib.suppress(OSError):
        for opened in OPEN_FILES.iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                found[str(opened.readlink())].append(f"/proc/{os.getpid()}/fd/{opened.name}")
    return found


def joined(files: Iterable[MappedFile]) -> Iterator[MappedFile]:
    """Parts of one file that lie side by side as one: advice for some of its pages cuts a mapping into several."""
    last: MappedFile | None = None
    for file in files:
        if last is not None and goes_on(last, file):
            last = replace(last, size_bytes=last.size_bytes + file.size_bytes)
            continue
        if last is not None:
            yield last
        last = file
    if last is not None:
        yield last


def goes_on(first: MappedFile, then: MappedFile) -> bool:
    """Whether a part begins where another one ends, here and in the file."""
    ends = (first.address + first.size_bytes, first.offset + first.size_bytes)
    facts = (first.path, first.device, first.inode, first.is_writable)
    return (then.address, then.offset) == ends and facts == (then.path, then.device, then.inode, then.is_writable)
