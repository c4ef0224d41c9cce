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
from headrace.engine.processes.parcels import pickled


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A pickle, and the memory of arrays and tensors beside it."""

    body: bytes
    buffers: Sequence[U8]
    digest: str
    """Equal for equal contents."""

    def load(self) -> Any:
        """A copy of the dataset; all copies of one process share the memory of arrays."""
        return pickle.loads(self.body, buffers=self.buffers)  # noqa: S301 - of the process that made it


def take_snapshot(dataset: Any) -> Snapshot:
    """The dataset as it is now. Arrays are not copied.

    Raises:
        OptionError: It cannot be pickled; the error names the attribute.
    """
    kept: list[pickle.PickleBuffer] = []
    try:
        body = bytes(pickled(dataset, kept.append))
    except Exception as error:
        raise cannot_travel(dataset, error) from error
    buffers = [np.frombuffer(one.raw(), dtype=np.uint8) for one in kept]
    digest = xxhash.xxh3_128(body)
    for buffer in buffers:
        digest.update(buffer.data)
    return Snapshot(body=body, buffers=buffers, digest=digest.hexdigest())


def can_travel(dataset: Any) -> bool:
    """Whether a dataset can be sent to worker processes."""
    try:
        pickled(dataset, lambda _: None)
    except Exception:  # noqa: BLE001 - whatever it says: no
        return False
    return True
