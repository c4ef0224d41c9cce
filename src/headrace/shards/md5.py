"""md5 of a file while it is being written."""

from __future__ import annotations

import hashlib
import os
import threading

from headrace import _native

CHUNK_BYTES = 4 << 20


class Md5Follower:
    """Hashes a growing file on a thread of its own, a little behind the writer.

    The bytes are read back from the page cache, so that it does not matter how they got into the file; hashing and
    reading release the GIL. On the way the system is told to begin writing to the disk, so that the flush at the end
    finds little to do. The thread starts with the first whole chunk; a short file never starts one.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.hashed = 0
        self.digest = hashlib.md5(usedforsecurity=False)
        self.safe = 0
        self.is_over = False
        self.error: OSError | None = None
        self.thread: threading.Thread | None = None
        self.changed = threading.Condition()

    def advance(self, safe: int) -> None:
        """Says that the first `safe` bytes are in the file and will not change."""
        with self.changed:
            self.safe = safe
            self.changed.notify()
        if self.thread is None and safe >= CHUNK_BYTES:
            self.thread = threading.Thread(target=self.follow, name="headrace-md5", daemon=True)
            self.thread.start()

    def finish(self, size: int) -> str:
        """The md5 of the whole file of `size` bytes, in hexadecimal. Raises `OSError` where it cannot be read."""
        self.advance(size)
        self.stop()
        if self.error is not None:
            raise self.error
        self.hash_until(size)
        return self.digest.hexdigest()

    def stop(self) -> None:
        """Ends the thread once it has hashed what is safe. Idempotent."""
        with self.changed:
            self.is_over = True
            self.changed.notify()
        if self.thread is not None:
            self.thread.join()
            self.thread = None

    def abandon(self) -> None:
        """Ends the thread at once."""
        with self.changed:
            self.safe = self.hashed
        self.stop()

    def follow(self) -> None:
        """Body of the thread."""
        try:
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.is_over or self.safe - self.hashed >= CHUNK_BYTES)
                    safe, is_over = self.safe, self.is_over
                start = self.hashed
                self.hash_until(safe)
                _native.start_writeback(self.fd, start, self.hashed - start)
                if is_over:
                    return
        except OSError as error:
            self.error = error

    def hash_until(self, end: int) -> None:
        """Hashes up to `end`, or up to where `safe` has been taken back to."""
        buffer = memoryview(bytearray(min(CHUNK_BYTES, max(1, end - self.hashed))))
        while self.hashed < min(end, self.safe):
            num_read = os.preadv(self.fd, [buffer[: min(len(buffer), end - self.hashed)]], self.hashed)
            if num_read == 0:
                raise OSError("a file became shorter while it was written")
            self.digest.update(buffer[:num_read])
            self.hashed += num_read


def md5_of_file(path: str | os.PathLike[str]) -> str:
    """The md5 of a file in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
