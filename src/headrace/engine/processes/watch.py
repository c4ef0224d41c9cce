"""The second thread of a worker process: sees that the trainer is gone, or has long had nothing to do."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

from headrace.engine.processes.board import Board
from headrace.engine.processes.process_memory import ResidentMemory

GRACE_S = 2.0
"""How long a worker may go on with its step when the trainer has gone."""

PR_SET_PDEATHSIG = 1
"""prctl(2)."""
OOM_SCORE = Path("/proc/self/oom_score_adj")
OOM_SCORE_ADDED = 300
"""In thousandths of the memory at hand, as proc(5) counts: a worker counts as if it held so much more."""


LOOK_EVERY_S = 0.5
"""How often memory is looked at while there is work: what a long step takes is known when it is killed for it."""
LOOK_EVERY_RESTING_S = 5.0


def watch(control: int, board: Board, worker: int, idle_s: float) -> None:
    """Starts the thread.

    Args:
        control: Descriptor of the socket to the trainer, which sends nothing more: only its end can be read.
        board: Where this process says what it holds, and that it leaves.
        worker: Number of this worker.
        idle_s: How long to stay without an iteration; 0 for as long as the trainer wants.
    """
    threading.Thread(target=stay, args=(control, board, worker, idle_s), name="headrace-watch", daemon=True).start()


def stay(control: int, board: Board, worker: int, idle_s: float) -> None:
    """Returns never: ends the process when it is not needed any more."""
    resident, poller = ResidentMemory(), select.poll()
    poller.register(control, select.POLLIN)
    busy_s, wait_s = time.monotonic(), LOOK_EVERY_S
    while not poller.poll(wait_s * 1000):
        if not board.is_resting():
            busy_s, wait_s = time.monotonic(), LOOK_EVERY_S
            board.note_memory(worker, resident.size_bytes())
        elif idle_s and time.monotonic() - busy_s >= idle_s:
            leave(board, worker)
        else:
            wait_s = min(idle_s or LOOK_EVERY_RESTING_S, LOOK_EVERY_RESTING_S)
    time.sleep(GRACE_S)  # the main thread sees the end of its queue, and ends the process in order
    os._exit(1)


def leave(board: Board, worker: int) -> None:
    """Ends this process, unless the trainer begins an iteration at this very moment.

    First it is said, then looked again: the trainer first begins, then looks whether somebody leaves.
    """
    board.set_leaving(worker, leaving=True)
    if board.is_resting():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os._exit(0)
    board.set_leaving(worker, leaving=False)


def die_first() -> None:
    """Has the system, when memory runs out, end this process rather than the trainer, who can tell of it (Linux)."""
    with contextlib.suppress(OSError, ValueError):  # not there, or not allowed
        own = int(OOM_SCORE.read_text())
        OOM_SCORE.write_text(str(min(own + OOM_SCORE_ADDED, 1000)))


def die_with(trainer: int) -> None:
    """Has the system kill this process when the thread that started it ends, where the system can (Linux).

    The watching thread does the same everywhere, except while native code holds the interpreter's lock.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != trainer:
            os._exit(1)
