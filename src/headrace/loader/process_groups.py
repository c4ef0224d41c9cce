"""Where a process stands in a device mesh or a process group of torch.distributed.

A build of torch without torch.distributed has neither, and this module then finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch.distributed as dist

from headrace.errors import OptionError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh

DATA_DIMS = frozenset(
    {
        "batch",
        "data",
        "data_parallel",
        "ddp",
        "dp",
        "dp_replicate",
        "dp_shard",
        "dp_shard_in_ep",
        "dp_shard_mod_ep",
        "fsdp",
        "replicate",
        "shard",
    }
)
"""Names of mesh dimensions along which batches differ, as FSDP's tutorials, torchtitan, Accelerate and Lightning give
them."""

MODEL_DIMS = frozenset(
    {
        "context_parallel",
        "cp",
        "ep",
        "etp",
        "expert_parallel",
        "pipeline_parallel",
        "pp",
        "sequence_parallel",
        "sp",
        "tensor_parallel",
        "tp",
    }
)
"""Names of mesh dimensions along which batches are equal: their ranks share the work on one batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Where a process stands in a mesh or group."""

    rank: int
    """Data-parallel rank: processes of the same one get equal batches."""
    world_size: int
    """Number of data-parallel ranks."""
    peers: tuple[int, ...]
    """All processes of the mesh or group as ranks of the job, ascending: they open the same epochs."""


def find_membership(value: object) -> Membership | None:
    """The membership of this process in a `DeviceMesh` or `ProcessGroup`; None for anything else.

    Raises:
        OptionError: The process is not in it, or a mesh does not tell which of its dimensions are data parallel.
    """
    if not dist.is_available():
        return None
    from torch.distributed.device_mesh import DeviceMesh

    if value is dist.GroupMember.NON_GROUP_MEMBER:
        raise _outsider("process group")
    if isinstance(value, dist.ProcessGroup):
        return _in_group(value)
    if isinstance(value, DeviceMesh):
        return _in_mesh(value)
    return None


def _in_group(group: ProcessGroup) -> Membership:
    rank = dist.get_rank(group)
    if rank < 0:
        raise _outsider("process group")
    peers = tuple(sorted(dist.get_process_group_ranks(group)))
    return Membership(rank=rank, world_size=dist.get_world_size(group), peers=peers)


def _in_mesh(mesh: DeviceMesh) -> Membership:
    """The data-parallel dimensions, taken together in the mesh's own order, number the ranks."""
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        raise _outsider("device mesh")
    rank, world_size = 0, 1
    for dim in _data_dims(mesh):
        size = mesh.size(dim)
        rank, world_size = rank * size + coordinate[dim], world_size * size
    return Membership(rank=rank, world_size=world_size, peers=tuple(sorted(mesh.mesh.flatten().tolist())))


def _data_dims(mesh: DeviceMesh) -> list[int]:
    """The dimensions along which batches differ: by their names, or the only one there is."""
    names = mesh.mesh_dim_names or ()
    if mesh.ndim == 1 and not any(map(_joins_equal_batches, names)):
        return [0]
    if mesh.ndim == 1 or not names or not DATA_DIMS.union(MODEL_DIMS).issuperset(names):
        shape = ", ".join(f"{name}={mesh.size(dim)}" for dim, name in enumerate(names))
        raise OptionError(
            "The device mesh does not tell which of its dimensions are data parallel",
            got=f"dimensions {shape}" if names else f"{mesh.ndim} dimensions without names",
            accepted=f"a mesh of the data-parallel dimension alone, or dimensions named "
            f"{', '.join(sorted(DATA_DIMS))} (batches differ) and {', '.join(sorted(MODEL_DIMS))} (batches are equal)",
            remedy='Pass the part of the mesh whose ranks get different batches, such as topology=mesh["dp"]',
        )
    return [dim for dim, name in enumerate(names) if name in DATA_DIMS]


def _joins_equal_batches(name: str) -> bool:
    """Whether a dimension holds ranks with equal batches, alone (`tp`) or flattened with others (`dp_cp`)."""
    return name not in DATA_DIMS and not MODEL_DIMS.isdisjoint({name, *name.split("_")})


def _outsider(kind: str) -> OptionError:
    return OptionError(
        f"This process is not in the {kind} given as topology",
        got=f"rank {dist.get_rank()} of {dist.get_world_size()}",
        accepted=f"a {kind} that this process is a member of",
        remedy="Make the loader on the members only",
    )
