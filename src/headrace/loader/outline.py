"""What a dataset looked like, so that a change that a script makes between two epochs is noticed.

Workers have copies of the dataset, and a plan was made from its transforms. torch's workers begin each epoch with a new
copy; ours are kept as long as nothing has changed.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import xxhash

from headrace.engine.processes.parcels import PROTOCOL, Pickler

MOST_ITEMS = 10_000
"""Collections of more items count as the same as long as they are the same object of the same length."""
MOST_BYTES = 64 << 20
"""So do arrays of more bytes; of tensors, changes in place are counted by torch."""
MOST_OBJECTS = 200_000
"""Of a dataset with more objects than these no outline is made."""
COLLECTIONS = (list, dict, tuple, set, frozenset)


def outline_of(*parts: Any) -> str | None:
    """A hash of all that is in these objects; None where they cannot be pickled, or have too many parts.

    A dataset of the usual kind takes a tenth of a millisecond.
    """
    digest = xxhash.xxh3_128()
    try:
        Outliner(digest).dump(parts)
    except Exception:  # noqa: BLE001 - whatever a class says that does not want to be pickled
        return None
    return digest.hexdigest()


class Outliner(Pickler):
    """Pickles into a hash."""

    def __init__(self, digest: Any) -> None:
        def hash_buffer(buffer: pickle.PickleBuffer) -> None:
            digest.update(buffer.raw())

        super().__init__(HashedFile(digest), protocol=PROTOCOL, buffer_callback=hash_buffer)
        self.num_objects = 0

    def persistent_id(self, value: Any) -> Any:
        """Of what is too large to be looked through, which object it is."""
        self.num_objects += 1
        if self.num_objects > MOST_OBJECTS:
            raise pickle.PicklingError("too many objects")
        if isinstance(value, COLLECTIONS):
            return (id(value), len(value)) if len(value) > MOST_ITEMS else None
        if isinstance(value, np.ndarray):
            return (id(value), value.ctypes.data, value.shape) if value.nbytes > MOST_BYTES else None
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            is_small = value.device.type == "cpu" and value.nbytes <= MOST_BYTES
            return None if is_small else (id(value), value._version)  # noqa: SLF001 - as autograd counts
        return None


class HashedFile:
    """Where the pickle goes."""

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def write(self, data: Any) -> None:
        """Takes a piece."""
        self.digest.update(data)
