"""One worker process as the trainer sees it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from headrace.engine.processes.anonymous_file import anonymous_file
from headrace.engine.processes.consumer_slots import ConsumerSlots
from headrace.engine.processes.messages import Brief, Inbox, Message, framed
from headrace.engine.processes.process_memory import PEAK_UNIT_BYTES
from headrace.engine.processes.seat import Seat
from headrace.engine.processes.windows import SharedFile

LEAVE_S = 4.0
"""How long a worker may take to end in order; one that takes longer is killed."""
LOOK_AGAIN_S = 0.001
PIECE_BYTES = 1 << 16

LIVE: set[Member] = set()
"""Workers that nobody has closed yet. Here they are out of reach of Python's garbage collector: where it comes upon a
forgotten crew in a cycle, it would otherwise finalise sockets and processes before the crew has ended them in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process has ended."""

    exit_code: int | None
    """As of `subprocess.Popen`; None where somebody else has asked the system, which tells it once."""
    peak_bytes: int
    """The most memory that it has held, as `process_memory.peak_bytes` counts."""


class Member:
    """A worker process: its socket, its memory, its end.

    Args:
        number: Its number among the workers.
        seat: What it is told, but for the descriptors of its socket and of its memory.
        environment: Its environment.

    Raises:
        OSError: The system gives no process, or no descriptor.
    """

    def __init__(self, number: int, seat: Seat, environment: Mapping[str, str]) -> None:
        self.number = number
        self.inbox = Inbox()
        self.ended: Ended | None = None
        self.asking = threading.Lock()
        self.sentinel = -1
        self.file = SharedFile(anonymous_file(f"worker-{number}"))
        self.slots = ConsumerSlots(self.file)
        self.control, theirs = socket.socketpair()
        try:
            with theirs:
                told = replace(seat, control=theirs.fileno(), slots=self.file.fd)
                self.process = subprocess.Popen(  # noqa: S603 - this interpreter
                    told.command(),
                    pass_fds=told.descriptors(),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    cwd=working_folder(),
                )
        except BaseException:
            self.close()
            raise
        LIVE.add(self)
        self.control.setblocking(False)  # noqa: FBT003 - the method of a socket
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # an older kernel: the end of the socket tells the same
                self.sentinel = os.pidfd_open(self.process.pid)

    @property
    def name(self) -> str:
        """Which worker it is, in words."""
        return f"worker {self.number} (process {self.process.pid})"

    def descriptors(self) -> list[int]:
        """What becomes readable when the worker has something to say, or has ended."""
        return [fd for fd in (self.control.fileno(), self.sentinel) if fd >= 0]

    def brief(self, brief: Brief) -> None:
        """Gives the worker its work."""
        with contextlib.suppress(OSError):  # it has died already, which is found out when it is listened to
            self.control.sendall(framed(brief))

    def messages(self) -> Iterator[Message]:
        """What has arrived, without waiting.

        Raises:
            EOFError: The worker has ended, and has nothing more to say.
        """
        while True:
            try:
                piece = self.control.recv(PIECE_BYTES)
            except BlockingIOError:
                if self.has_ended():
                    raise EOFError from None
                return
            except ConnectionResetError:
                raise EOFError from None
            if not piece:
                raise EOFError
            for message in self.inbox.feed(piece):
                if not isinstance(message, Brief):
                    yield message

    def has_ended(self) -> bool:
        """Whether the process is no more; asks the system, and keeps the answer."""
        with self.asking:
            if self.ended is not None:
                return True
            try:
                pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            except ChildProcessError:
                self.note_end(Ended(exit_code=None, peak_bytes=0))
                return True
            if pid:
                peak_bytes = usage.ru_maxrss * PEAK_UNIT_BYTES
                self.note_end(Ended(exit_code=os.waitstatus_to_exitcode(status), peak_bytes=peak_bytes))
            return bool(pid)

    def note_end(self, ended: Ended) -> None:
        """Keeps how it ended."""
        self.ended = ended
        self.process.returncode = ended.exit_code if ended.exit_code is not None else -1

    def wait(self, until_s: float) -> bool:
        """Waits for the end of the process until a moment of `time.monotonic`; whether it has come."""
        while not self.has_ended():
            if time.monotonic() > until_s:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    def see_off(self) -> None:
        """After its line has gone dead: waits for the end of the process, and ends one that stays."""
        self.wait(time.monotonic() + LEAVE_S)
        self.kill()
        self.wait(time.monotonic() + LEAVE_S)

    def hang_up(self) -> None:
        """Tells the worker that it is not needed any more, whoever else holds a copy of the socket."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """Ends the process at once."""
        if not self.has_ended():
            self.process.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Closes all descriptors; batches that were delivered stay. Idempotent."""
        LIVE.discard(self)
        self.control.close()
        self.file.close()
        sentinel, self.sentinel = self.sentinel, -1
        if sentinel >= 0:
            os.close(sentinel)

    def forget(self) -> None:
        """In a forked child: the process is the parent's."""
        self.note_end(Ended(exit_code=None, peak_bytes=0))
        self.close()


def working_folder() -> str | None:
    """Where a worker is started: where this process is, or at the root if that folder is gone.

    Libraries that ask where they are when they are loaded, such as oneMKL, end the process if nobody can tell.
    """
    try:
        os.getcwd()  # noqa: PTH109 - only whether there is one
    except FileNotFoundError:
        return os.sep
    return None
