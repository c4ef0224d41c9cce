"""What a dataset looked like, so that a change that a script makes between two epochs is noticed.

Workers have copies of the dataset, and a plan was made from its transforms. torch's workers begin each epoch with a new
copy; ours are kept as long as nothing has changed.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
from typing import Any

import numpy as np
import xxhash

from headrace.engine.processes.mapped_files import MappedFiles, mapped_files
from headrace.engine.processes.parcels import PROTOCOL
from headrace.engine.processes.work_pickler import WorkPickler

MOST_ITEMS = 10_000
"""Collections of more items count as the same as long as they are the same object of the same length."""
MOST_BYTES = 64 << 20
"""So do arrays of more bytes, and those that lie in files or are shared with workers; of tensors, changes in place are
counted by torch."""
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


def holds_files(*parts: Any) -> bool:
    """Whether a file is open in these objects, as far as they can be looked through."""
    outliner = Outliner(xxhash.xxh3_128())
    with contextlib.suppress(Exception):
        outliner.dump(parts)
    return outliner.num_files > 0


class Outliner(WorkPickler):
    """Pickles into a hash."""

    def __init__(self, digest: Any) -> None:
        def hash_buffer(buffer: pickle.PickleBuffer) -> None:
            digest.update(buffer.raw())

        super().__init__(HashedFile(digest), protocol=PROTOCOL, buffer_callback=hash_buffer)
        self.num_objects = 0
        self.num_files = 0
        self.files: MappedFiles | None = None

    def persistent_id(self, value: Any) -> Any:
        """Of what is too large to be looked through, which object it is."""
        self.num_objects += 1
        if self.num_objects > MOST_OBJECTS:
            raise pickle.PicklingError("too many objects")
        self.num_files += isinstance(value, io.IOBase)
        if isinstance(value, COLLECTIONS):
            return (id(value), len(value)) if len(value) > MOST_ITEMS else None
        if isinstance(value, np.ndarray):
            is_small = value.nbytes <= MOST_BYTES and not (is_borrowed(value) and self.is_shared(value))
            return None if is_small else (id(value), value.ctypes.data, value.shape)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor) and value.layout == torch.strided:
            return place_of(value)  # of a sparse one, the tensors of which it consists
        return None

    def is_shared(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether workers see what is written there: their arrays lie in the same file."""
        if self.files is None:
            self.files = mapped_files()
        return self.files.find(array.__array_interface__["data"][0], array.nbytes) is not None


def place_of(tensor: Any) -> Any:
    """Which tensor it is; None where what it holds is looked through."""
    is_ours = tensor.device.type == "cpu"
    if is_ours and tensor.is_shared():
        return id(tensor), tensor.data_ptr(), tensor.shape  # what is written there, workers see as well
    is_small = is_ours and tensor.nbytes <= MOST_BYTES
    return None if is_small else (id(tensor), tensor._version)  # noqa: SLF001 - as autograd counts


def is_borrowed(array: np.ndarray[Any, Any]) -> bool:
    """Whether the memory is none of numpy's own."""
    root: Any = array
    while isinstance(root, np.ndarray) and root.base is not None:
        root = root.base
    return not isinstance(root, np.ndarray)


class HashedFile:
    """Where the pickle goes."""

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def write(self, data: Any) -> None:
        """Takes a piece."""
        self.digest.update(data)
