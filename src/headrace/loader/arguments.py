"""Arguments of a loader that are checked against each other, before they become options."""

from __future__ import annotations

from typing import Any

from headrace.errors import OptionError
from headrace.loader.options import LoaderOptions
from headrace.loader.process_groups import Membership, find_membership
from headrace.loader.torch_arguments import TorchArguments
from headrace.order import Topology


def check_samplers(given: TorchArguments, options: LoaderOptions, batch_size: int | None) -> None:
    """The combinations that torch refuses are refused here too, and what asks for an order where a sampler says it.

    Args:
        given: What the caller has given.
        options: The same, where it became options.
        batch_size: As it was given.

    Raises:
        OptionError: Arguments that exclude each other.
    """
    sampled = given.sampler is not None or given.batch_sampler is not None
    if given.sampler is not None and given.shuffles:
        raise OptionError("sampler excludes shuffle", got=f"shuffle={options.shuffle!r}", accepted="one of the two")
    others = given.shuffles or given.sampler is not None or options.drop_last
    if given.batch_sampler is not None and (batch_size != 1 or others):
        raise OptionError(
            "batch_sampler excludes batch_size, shuffle, sampler and drop_last", accepted="batch_sampler alone"
        )
    for name in ("accumulate", "canonical_nodes", "window_samples"):
        value = getattr(options, name)
        if value not in (None, 1) and sampled:
            raise OptionError(f"a sampler excludes {name}", got=f"{name}={value!r}", accepted="one of the two")
    if not options.is_batched and (options.drop_last or options.collate is not None):
        raise OptionError(
            "batch_size=None turns batches off, and excludes drop_last and collate",
            accepted="collate_fn=, which gets single samples then",
        )


def check_workers(options: LoaderOptions) -> None:
    """What asks for workers where there are none, or for processes where there are threads.

    Raises:
        OptionError: `num_workers=0` with an argument for workers, or `engine="threads"` with `worker_init_fn`.
    """
    check_timeout(options)
    if options.prefetch_factor is not None:
        _check_num_workers("prefetch_factor", options)
    if options.persistent_workers:
        _check_num_workers("persistent_workers", options)
    if options.worker_init_fn is not None and options.engine == "threads":
        raise OptionError(
            "worker_init_fn belongs to worker processes, and this loader works with threads",
            got=repr(options.worker_init_fn),
            accepted="None",
            remedy='Leave it out, or use engine="processes"',
        )


def check_timeout(options: LoaderOptions) -> None:
    """The caller's thread cannot be waited for by itself.

    Raises:
        OptionError: A time-out without workers.
    """
    if options.timeout_s > 0:
        _check_num_workers("timeout", options)


def _check_num_workers(name: str, options: LoaderOptions) -> None:
    if options.num_workers == 0:
        raise OptionError(
            f"{name} is for workers, and there are none",
            got="num_workers=0",
            accepted='num_workers of 1 or more, or "auto"',
        )


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


def read_shuffle(shuffle: Any) -> Any:
    """Torch takes any value for a bool; ours has two modes more."""
    return shuffle if shuffle is None or isinstance(shuffle, str) else bool(shuffle)


def seed_of(generator: Any) -> int:
    """The seed of a `torch.Generator`."""
    if not hasattr(generator, "initial_seed"):
        raise OptionError("generator has a wrong type", got=repr(generator), accepted="a torch.Generator or None")
    return int(generator.initial_seed())
