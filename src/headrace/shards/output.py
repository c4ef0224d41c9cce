"""Bytes and whole files appended to an open file."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from headrace.errors import SourceError

BUFFER_BYTES = 1 << 20
LARGE_BYTES = 1 << 20
"""From this size on a file is copied by the kernel; below it, a read into the buffer costs less than the calls."""
NOT_HERE = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """Bytes of an open file, to be written without going through Python."""

    fd: int
    size: int
    offset: int = 0


class Output:
    """Appends to a file through a buffer, and can take back what was appended last.

    Errors of the system are raised as they are (`OSError`).
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.buffer = memoryview(bytearray(BUFFER_BYTES))
        self.filled = 0
        self.flushed = 0

    @property
    def position(self) -> int:
        """Bytes appended so far."""
        return self.flushed + self.filled

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes."""
        size = len(data)
        if size > BUFFER_BYTES - self.filled:
            self.flush()
            if size > BUFFER_BYTES:
                self.write_through(memoryview(data))
                return
        self.buffer[self.filled : self.filled + size] = data
        self.filled += size

    def copy(self, source: FileRange) -> None:
        """Appends a range of a file. Raises `SourceError` where the file ends before the range does."""
        if source.size > BUFFER_BYTES - self.filled:
            self.flush()
        if source.size >= LARGE_BYTES:
            done = self.copy_in_kernel(source)
            self.copy_through_buffer(source, done)
        else:
            self.read_into_buffer(source.fd, source.size, source.offset)

    def flush(self) -> None:
        """Hands the buffer to the system."""
        self.write_through(self.buffer[: self.filled])
        self.filled = 0

    def rewind(self, position: int) -> None:
        """Takes back everything after `position`."""
        if position >= self.flushed:
            self.filled = position - self.flushed
            return
        self.filled = 0
        os.ftruncate(self.fd, position)
        os.lseek(self.fd, position, os.SEEK_SET)
        self.flushed = position

    def write_through(self, data: memoryview) -> None:
        """Writes past the buffer, which is empty or what is written."""
        data = data.cast("B")
        while data:
            written = os.write(self.fd, data)
            self.flushed += written
            data = data[written:]

    def read_into_buffer(self, fd: int, size: int, offset: int) -> None:
        """Reads a range that fits into the buffer."""
        end = self.filled + size
        while self.filled < end:
            num_read = os.preadv(fd, [self.buffer[self.filled : end]], offset)
            if num_read == 0:
                raise shrunk()
            self.filled += num_read
            offset += num_read

    def copy_in_kernel(self, source: FileRange) -> int:
        """Copies with copy_file_range as far as the system does it; gives the bytes done. The buffer is empty."""
        if not hasattr(os, "copy_file_range"):
            return 0
        done = 0
        while done < source.size:
            try:
                copied = os.copy_file_range(source.fd, self.fd, source.size - done, source.offset + done)
            except OSError as error:
                if error.errno in NOT_HERE:
                    break
                raise
            if copied == 0:
                break
            done += copied
            self.flushed += copied
        return done

    def copy_through_buffer(self, source: FileRange, done: int) -> None:
        """Copies the rest of a large range piece by piece."""
        while done < source.size:
            size = min(BUFFER_BYTES, source.size - done)
            self.read_into_buffer(source.fd, size, source.offset + done)
            self.flush()
            done += size


def shrunk() -> SourceError:
    """The error for a source that is shorter than it was said to be."""
    return SourceError("a file became shorter while it was packed", remedy="Pack again when nobody writes to it")
