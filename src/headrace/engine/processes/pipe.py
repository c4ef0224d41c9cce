"""Pipes that close themselves."""

from __future__ import annotations

import contextlib
import os


class Pipe:
    """A pipe within this process, or to processes that inherit one of its ends."""

    def __init__(self) -> None:
        self.read_end = self.write_end = -1
        self.read_end, self.write_end = os.pipe()

    def close_write_end(self) -> None:
        """Lets readers see the end. Idempotent."""
        fd, self.write_end = self.write_end, -1
        if fd >= 0:
            os.close(fd)

    def close(self) -> None:
        """Closes both ends. Idempotent."""
        self.close_write_end()
        fd, self.read_end = self.read_end, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class Bell(Pipe):
    """Wakes somebody who waits for descriptors, among them this one."""

    def __init__(self) -> None:
        super().__init__()
        os.set_blocking(self.read_end, False)
        os.set_blocking(self.write_end, False)

    def ring(self) -> None:
        """Wakes him, now or at his next turn; safe in finalisers."""
        with contextlib.suppress(BlockingIOError):  # it rings already
            os.write(self.write_end, b".")

    def hush(self) -> None:
        """Makes ready for the next time."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.read_end, 4096):
                pass
