"""Who shares a block: the processes that one process starts, or all ranks of a node."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
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

JOB_VARIABLES = (
    "TORCHELASTIC_RUN_ID",
    "MASTER_ADDR",
    "MASTER_PORT",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
)
"""What torchrun, srun and mpirun tell the ranks of one job alike: two jobs cannot listen on one port of one node."""

ONCE_WAIT_S = 3600.0
"""How long a rank waits for the one that makes a named list: it may be looking through millions of files. One that is
killed meanwhile keeps nobody waiting."""


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
        warn_of_own_lists(error)
        return create_block(packed)


def share_once(name: str, pack: Callable[[], Packed]) -> Block:
    """A block that the first rank of a node to ask for it makes; where no launcher started several, simply made.

    Args:
        name: Which block of this job.
        pack: Packs the items. Called by one rank of those that wait; if it raises, by the next one.

    Raises:
        StorageError: No memory for it.
    """
    job = job_of(os.environ) if several_ranks_here(os.environ) else None
    if job is None:
        return create_block(pack())
    try:
        return meet(
            xxhash.xxh3_128_hexdigest(f"{job}\n{name}".encode()), lambda: create_block(pack()), wait_s=ONCE_WAIT_S
        )
    except NoMeetingError as error:
        warn_of_own_lists(error)
        return create_block(pack())


def warn_of_own_lists(error: NoMeetingError) -> None:
    """Tells the user why ranks do not share; the line that makes the list is four calls up."""
    warnings.warn(f"Each rank keeps a list of its own: {error}", RuntimeWarning, stacklevel=4)


def job_of(environ: Mapping[str, str]) -> str | None:
    """What the ranks of a job on this node have in common, and no other job of the same time has; None if unknown."""
    facts = [f"{name}={environ[name]}" for name in JOB_VARIABLES if name in environ]
    return "\n".join(facts) or None


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
