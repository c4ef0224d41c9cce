"""The options of a loader, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from headrace._base.units import parse_bytes
from headrace.contracts import OnError, Tail
from headrace.datasets.collate_rules import RulesArgument, parse_rules
from headrace.datasets.plan import DecodeOptions
from headrace.errors import OptionError
from headrace.order import OnBatchChange

Extra: TypeAlias = Literal["index", "key", "url", "valid"]
Engine: TypeAlias = Literal["auto", "threads", "processes"]
LEAST_BUDGET_BYTES = 1 << 20
MOST_WORKERS = 1024
"""As many threads as the native pool takes; beyond that a number of workers is a slip of the keyboard."""
ShuffleArgument: TypeAlias = bool | Literal["full", "window"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderOptions:
    """What the caller asked for; nothing here is decided by the machine yet."""

    batch_size: int | None = 1
    """Samples a batch of one rank; None where a batch sampler says, or where there are no batches."""
    is_batched: bool = True
    """Whether samples are put together to batches; otherwise each is delivered by itself."""
    shuffle: ShuffleArgument = None
    drop_last: bool = False
    tail: Tail | None = None
    seed: int = 0
    engine: Engine = "auto"
    num_workers: int | Literal["auto"] = "auto"
    seed_workers: bool = True
    """Whether the global generators of worker processes follow the samples."""
    worker_init_fn: Callable[[int], Any] | None = None
    """Called in each worker process with its number."""
    timeout_s: float = 0
    """How long a batch may be waited for; 0: for ever."""
    prefetch_factor: int | None = None
    persistent_workers: bool = False
    """Whether the next epoch begins before anybody iterates over it."""
    pin_memory: bool = False
    collate_fn: Callable[[list[Any]], Any] | None = None
    collate: RulesArgument = None
    batch_transform: Callable[[Any], Any] | None = None
    """Called with each batch, before extras are added."""
    memory_budget: int | str = "auto"
    """Bytes, a size such as "8GiB", or "auto"."""
    window_samples: int | None = None
    accumulate: int = 1
    """Batches of a rank that make one step of the optimizer."""
    canonical_nodes: int | None = None
    on_batch_change: OnBatchChange = "refuse"
    on_error: OnError = "raise"
    extras: tuple[Extra, ...] = ()
    decode: DecodeOptions

    def __post_init__(self) -> None:
        _check_count("batch_size", self.batch_size, least=1, none=True)
        if self.num_workers != "auto":
            _check_count("num_workers", self.num_workers, least=0, most=MOST_WORKERS)
        _check_count("prefetch_factor", self.prefetch_factor, least=1, none=True)
        _check_count("window_samples", self.window_samples, least=1, none=True)
        _check_count("accumulate", self.accumulate, least=1)
        _check_count("canonical_nodes", self.canonical_nodes, least=1, none=True)
        _check_mode("on_batch_change", self.on_batch_change, get_args(OnBatchChange))
        _check_mode("engine", self.engine, get_args(Engine))
        _check_mode("drop_last", self.drop_last, (True, False))
        _check_time("timeout", self.timeout_s)
        _check_mode("seed_workers", self.seed_workers, (True, False))
        _check_mode("persistent_workers", self.persistent_workers, (True, False))
        if self.worker_init_fn is not None and not callable(self.worker_init_fn):
            raise OptionError("worker_init_fn cannot be called", got=repr(self.worker_init_fn), accepted="a callable")
        _check_mode("tail", self.tail, (None, *get_args(Tail)))
        _check_mode("shuffle", self.shuffle, (None, False, True, "full", "window"))
        _check_mode("on_error", self.on_error, get_args(OnError))
        _check_mode("fuse", self.decode.fuse, (True, False, "exact"))
        _check_mode("memory_format", self.decode.memory_format, ("contiguous", "channels_last"))
        _check_mode("exif", self.decode.exif, ("ignore", "apply"))
        _check_mode("dct_scaling", self.decode.dct_scaling, (False, True))
        for extra in self.extras:
            _check_mode("extras", extra, get_args(Extra))
        if self.drop_last and self.tail not in (None, "drop"):
            raise OptionError("drop_last=True contradicts tail", got=f"tail={self.tail!r}", accepted="one of the two")
        if self.memory_budget != "auto":
            check_budget(self.memory_budget)
        _check_seed(self.seed)
        if self.collate_fn is not None and not callable(self.collate_fn):
            raise OptionError("collate_fn cannot be called", got=repr(self.collate_fn), accepted="a callable or None")
        if self.collate_fn is not None and self.collate is not None:
            raise OptionError("collate_fn excludes collate", got=repr(self.collate), accepted="one of the two")
        parse_rules(self.collate)
        if self.batch_transform is not None and not callable(self.batch_transform):
            raise OptionError(
                "batch_transform cannot be called", got=repr(self.batch_transform), accepted="a callable or None"
            )


def resolve_tail(tail: Tail | None, *, drop_last: bool, world_size: int) -> Tail:
    """The tail that torch's arguments mean: a short last batch on one rank, padding on several."""
    if tail is not None:
        return tail
    if drop_last:
        return "drop"
    return "keep" if world_size == 1 else "pad"


def resolve_shuffle(shuffle: ShuffleArgument, *, sharded: bool) -> Literal["none", "full", "window"]:
    """The mode of order: `True` means windows on shards and a full permutation elsewhere."""
    if shuffle is None or shuffle is False:
        return "none"
    if shuffle is True:
        return "window" if sharded else "full"
    return shuffle


def _check_count(name: str, value: object, *, least: int, most: int | None = None, none: bool = False) -> None:
    if none and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        span = f"from {least} to {most}" if most is not None else f"of {least} or more"
        accepted = f"an integer {span}" + (" or None" if none else "")
        raise OptionError(f"{name} is not accepted", got=repr(value), accepted=accepted)


def _check_time(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise OptionError(f"{name} is not accepted", got=repr(value), accepted="a number of seconds, 0 or more")


def _check_seed(seed: object) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise OptionError("seed has a wrong type", got=repr(seed), accepted="an integer")
    if not 0 <= seed < 2**64:
        raise OptionError("seed is out of range", got=seed, accepted="0 to 2^64 - 1")


def _check_mode(name: str, value: object, accepted: Sequence[object]) -> None:
    if not any(value is one or (isinstance(one, str) and value == one) for one in accepted):
        raise OptionError(f"{name} is not accepted", got=repr(value), accepted=", ".join(map(repr, accepted)))


def check_budget(budget: int | str) -> None:
    """Refuses a budget in which no batch has room: a number of bytes this small was meant as something else.

    Raises:
        OptionError: Not a size, or less than `LEAST_BUDGET_BYTES`.
    """
    if parse_bytes(budget, name="memory_budget") < LEAST_BUDGET_BYTES:
        raise OptionError(
            "memory_budget is too small",
            got=repr(budget),
            accepted=f'"auto", or at least {LEAST_BUDGET_BYTES} bytes, as a number or a string such as "8GiB"',
        )
