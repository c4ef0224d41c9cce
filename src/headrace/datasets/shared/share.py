"""Who shares a block: the processes that one process starts, or all ranks of a node."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Literal, TypeAlias

import xxhash

from headrace.datasets.shared.block import Block, create_block
from headrace.datasets.shared.packed import Packed
from headrace.datasets.shared.rendezvous import NoMeetingError, meet
from headrace.errors import OptionError

Per: TypeAlias = Literal["auto", "node", "process"]
"""One block for all ranks of a node, or one for each process that makes a list and the processes it starts."""

LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
"""Where torchrun and mpirun say how many ranks a node has."""


def share(packed: Packed, per: Per) -> Block:
    """A block with the packed items; they are used up.

    Args:
        packed: The items.
        per: `"auto"` is `"node"` where a launcher has started several ranks on this node.

    Raises:
        OptionError: Another value of `per`.
        StorageError: No memory for it; with `per="node"` also where ranks cannot meet.
    """
    if per not in {"auto", "node", "process"}:
        raise OptionError("per is not known", got=repr(per), accepted='"auto", "node" or "process"')
    if per == "process" or (per == "auto" and not several_ranks_here(os.environ)):
        return create_block(packed)
    try:
        return meet(digest(packed), lambda: create_block(packed))
    except NoMeetingError as error:
        if per == "node":
            raise
        warnings.warn(f"Each rank keeps a list of its own: {error}", RuntimeWarning, stacklevel=4)
        return create_block(packed)


def several_ranks_here(environ: Mapping[str, str]) -> bool:
    """Whether a launcher has started several processes on this node, as far as its variables tell."""
    sizes = [environ[name] for name in LOCAL_SIZES if name in environ]
    if any(size.isdigit() and int(size) > 1 for size in sizes):
        return True
    if "SLURM_STEP_ID" not in environ:
        return False
    tasks, nodes = environ.get("SLURM_NTASKS", ""), environ.get("SLURM_NNODES", "1")
    return tasks.isdigit() and nodes.isdigit() and int(tasks) > int(nodes)


def digest(packed: Packed) -> str:
    """32 hexadecimal characters for the content: equal for equal items, whoever packs them."""
    state = xxhash.xxh3_128()
    shapes = [(array.dtype.str, array.shape) for array in packed.arrays]
    state.update(json.dumps([packed.schema, packed.num_rows, shapes], sort_keys=True).encode())
    for array in packed.arrays:
        for view in array.flat():
            state.update(view)
    return state.hexdigest()
