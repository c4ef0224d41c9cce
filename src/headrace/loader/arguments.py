"""Arguments of a loader that are checked on their own, before they become options."""

from __future__ import annotations

from typing import Any

from headrace.errors import OptionError
from headrace.loader.options import Engine, ShuffleArgument
from headrace.loader.process_groups import Membership, find_membership
from headrace.order import Topology

START_METHODS = (None, "fork", "spawn", "forkserver")
"""What torch takes as `multiprocessing_context`, beside a context object."""


def check_samplers(
    batch_size: int | None,
    shuffle: ShuffleArgument,
    sampler: Any,
    batch_sampler: Any,
    *,
    drop_last: bool,
    **of_order: object,
) -> None:
    """The combinations that torch refuses are refused here too, and what asks for an order where a sampler says it."""
    if sampler is not None and shuffle:
        raise OptionError("sampler excludes shuffle", got=f"shuffle={shuffle!r}", accepted="one of the two")
    if batch_sampler is not None and (batch_size not in (1, None) or shuffle or sampler is not None or drop_last):
        raise OptionError(
            "batch_sampler excludes batch_size, shuffle, sampler and drop_last", accepted="batch_sampler alone"
        )
    for name, value in of_order.items():
        if value not in (None, 1) and (sampler is not None or batch_sampler is not None):
            raise OptionError(f"a sampler excludes {name}", got=f"{name}={value!r}", accepted="one of the two")


def read_topology(topology: object) -> Topology | Membership | None:
    """What the caller says of this process: a topology, or the membership of a device mesh or process group.

    Raises:
        OptionError: Something else, or a mesh or group in which this process has no data-parallel rank.
    """
    if topology is None or isinstance(topology, Topology):
        return topology
    membership = find_membership(topology)
    if membership is None:
        raise OptionError(
            "topology has a wrong type",
            got=repr(topology),
            accepted="a headrace.Topology, a DeviceMesh or ProcessGroup of torch.distributed, or None",
        )
    return membership


def check_of_processes(timeout: float, worker_init_fn: Any, multiprocessing_context: Any, engine: Engine) -> None:
    """Arguments of worker processes.

    Raises:
        OptionError: A time-out, an unknown start method, or something to be done in worker processes by an engine that
            has none.
    """
    if timeout:
        raise OptionError(
            "timeout is not known here",
            got=repr(timeout),
            accepted="0",
            remedy="A worker that dies is told within a second; nothing has to be waited for",
        )
    is_context = hasattr(multiprocessing_context, "get_start_method")
    if not is_context and multiprocessing_context not in START_METHODS:
        accepted = "a context of multiprocessing, or " + ", ".join(map(repr, START_METHODS))
        raise OptionError(
            "multiprocessing_context is not accepted", got=repr(multiprocessing_context), accepted=accepted
        )
    if worker_init_fn is not None and engine == "threads":
        raise OptionError(
            "worker_init_fn belongs to worker processes, and this loader works with threads",
            got=repr(worker_init_fn),
            accepted="None",
            remedy='Leave it out, or use engine="processes"',
        )


def seed_of(generator: Any) -> int:
    """The seed of a `torch.Generator`."""
    if not hasattr(generator, "initial_seed"):
        raise OptionError("generator has a wrong type", got=repr(generator), accepted="a torch.Generator or None")
    return int(generator.initial_seed())
