"""Finds out where this process stands among the data-parallel ranks of its job."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch.distributed as dist

from headrace.loader.launchers import launched_as, launched_topology
from headrace.loader.process_groups import Membership
from headrace.order import Topology


def detect_topology(said: Topology | Membership | None = None, environ: Mapping[str, str] | None = None) -> Topology:
    """Where this process stands among the data-parallel ranks.

    What the caller says comes first, then torch.distributed if it is initialised, then the variables of torchrun,
    mpirun and srun; a process that nobody launched is alone.

    Args:
        said: Said by the caller: a topology, or a membership of a device mesh or process group.
        environ: Environment variables; those of the process by default.

    Raises:
        OptionError: A variable that is no number or does not fit the others, named.
    """
    environ = os.environ if environ is None else environ
    if isinstance(said, Topology):
        return said
    if said is not None:
        return _in_job(said, launched_as(dist.get_rank(), dist.get_world_size(), environ))
    if dist.is_available() and dist.is_initialized():
        return launched_as(dist.get_rank(), dist.get_world_size(), environ)
    return launched_topology(environ) or Topology()


def _in_job(membership: Membership, process: Topology) -> Topology:
    """The data-parallel rank of a process that stands somewhere in its job.

    CPUs, memory and page cache are shared by all processes of a node, whatever they compute: the local rank and size
    are theirs. Nodes count as far as data-parallel ranks can lie on different ones.
    """
    num_nodes = min(process.num_nodes, membership.world_size)
    return Topology(
        rank=membership.rank,
        world_size=membership.world_size,
        local_rank=process.local_rank,
        local_world_size=process.local_world_size,
        node=process.node * num_nodes // process.num_nodes,
        num_nodes=num_nodes,
    )
