"""A dataset as it is at one moment, from which workers make copies of their own, each as good as new."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from headrace.contracts import U8
from headrace.engine.processes.culprits import cannot_travel
from headrace.engine.processes.mapped_files import mapped_files
from headrace.engine.processes.work_pickler import pickled_work
from headrace.loader.outline import outline_of

MOST_TOLD_BYTES = 1 << 16
"""Shared memory of up to so much is each worker's own where the dataset has `set_epoch`: the epoch may be kept there,
and workers are told of it one by one, and begin their epochs at different times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A pickle, and the memory of arrays and tensors beside it."""

    body: U8
    """Where workers map it, it is in memory once for all of them."""
    buffers: Sequence[U8]
    digest: str
    """Equal for equal contents."""

    def load(self) -> Any:
        """A copy of the dataset; all copies of one process share the memory of arrays."""
        return pickle.loads(self.body.data, buffers=self.buffers)  # noqa: S301 - of the process that made it


def take_snapshot(dataset: Any) -> Snapshot:
    """The dataset as it is now. Arrays are not copied, and mapped files are not read.

    Raises:
        OptionError: It cannot be pickled; the error names the attribute.
    """
    kept: list[pickle.PickleBuffer] = []
    try:
        body = np.frombuffer(pickled_work(dataset, kept.append), dtype=np.uint8)
    except Exception as error:
        raise cannot_travel(dataset, error) from error
    buffers = [np.frombuffer(one.raw(), dtype=np.uint8) for one in kept]
    digest = xxhash.xxh3_128(body.data)
    files, is_told = mapped_files(), callable(getattr(dataset, "set_epoch", None))
    for number, buffer in enumerate(buffers):
        address: int = buffer.__array_interface__["data"][0]
        file = files.find(address, buffer.nbytes)  # workers see what is written there, and it may be beyond measure
        if file is not None and file.is_writable and is_told and buffer.nbytes <= MOST_TOLD_BYTES:
            buffers[number], file = buffer.copy(), None
        digest.update(buffer.data if file is None else repr((file, address, buffer.nbytes)).encode())
    return Snapshot(body=body, buffers=buffers, digest=digest.hexdigest())


class Changes:
    """What a script has changed in its dataset since workers were sent it.

    Args:
        dataset: Of the trainer.
        sent: What workers make their copies from.
    """

    def __init__(self, dataset: Any, sent: Snapshot) -> None:
        self.dataset = dataset
        self.sent_digest = sent.digest
        self.outline = outline_of(dataset)

    def now(self) -> Snapshot | None:
        """The dataset as it is now; None where it is what was sent.

        Raises:
            OptionError: It cannot be pickled any more.
        """
        outline = outline_of(self.dataset)
        if outline is not None and outline == self.outline:
            return None
        snapshot = take_snapshot(self.dataset)
        return snapshot if snapshot.digest != self.sent_digest else None


def can_travel(dataset: Any) -> bool:
    """Whether a dataset can be sent to worker processes."""
    try:
        pickled_work(dataset, lambda _: None)
    except Exception:  # noqa: BLE001 - whatever it says: no
        return False
    return True
