"""What a worker process is told on its command line."""

from __future__ import annotations

import json
import multiprocessing.spawn
import os
import sys
from dataclasses import asdict, dataclass

PROGRAM = (
    "import json, os, sys; seat = json.loads(sys.argv[1]); os.read(seat['starts'], 1); sys.path[:] = seat['path']; "
    "from headrace.engine.processes.worker import main; main(seat)"
)
"""Waits for its turn to start before it imports anything that takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One worker among those of an engine. What has a descriptor in its name is inherited."""

    number: int
    trainer: int
    """Process id of the one that starts it."""
    dies_with_thread: bool
    """Whether the system is to kill it when the thread that starts it ends: only right for a main thread."""
    tickets: int
    """Descriptor of the pipe of tickets."""
    tasks: int
    """Descriptor of the file of steps."""
    work: int
    """Descriptor of the file of the work."""
    starts: int
    """Descriptors of the pipe of starts, for reading."""
    started: int
    """The same, for writing."""
    path: tuple[str, ...]
    """Where modules are found."""
    preload: tuple[str, ...]
    """Modules that the work is likely to need, imported while the trainer still packs it."""
    control: int = -1
    """Descriptor of the socket to the trainer."""
    slots: int = -1
    """Descriptor of the file of this worker's batches."""

    def command(self) -> list[str]:
        """The command line that starts it."""
        flags = [*["-O"] * sys.flags.optimize, *(f"-W{option}" for option in sys.warnoptions)]
        return [os.fsdecode(multiprocessing.spawn.get_executable()), *flags, "-c", PROGRAM, json.dumps(asdict(self))]

    def descriptors(self) -> list[int]:
        """What the process inherits."""
        return [self.control, self.tickets, self.tasks, self.work, self.slots, self.starts, self.started]

    def pass_the_start_on(self) -> None:
        """Lets another worker start."""
        os.write(self.started, b".")
