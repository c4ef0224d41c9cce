"""Whether a job can be sent to worker processes: it is pickled, and what that gives is thrown away."""

from __future__ import annotations

import io

from headrace.engine.processes.culprits import cannot_travel
from headrace.engine.processes.job import Job
from headrace.engine.processes.parcels import PROTOCOL
from headrace.engine.processes.work_pickler import WorkPickler
from headrace.errors import OptionError


class Drain(io.RawIOBase):
    """A file that keeps nothing of what is written to it."""

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def write(self, data: object) -> int:
        """Takes all of it."""
        return memoryview(data).nbytes  # type: ignore[arg-type]


def objection_to(job: Job) -> OptionError | None:
    """What keeps a job from being sent; None where it can be. Arrays and tensors are not read."""
    try:
        WorkPickler(Drain(), protocol=PROTOCOL, buffer_callback=lambda _: None).dump(job)
    except Exception as error:  # noqa: BLE001 - whatever a dataset's own pickling raises
        return cannot_travel(job, error)
    return None
