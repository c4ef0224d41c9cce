"""Attributes that code written for `torch.utils.data.DataLoader` reads from a loader, and may set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from multiprocessing.context import BaseContext
from typing import Any

from torch.utils.data import default_collate, default_convert

from headrace.datasets.collate_rules import parse_rules
from headrace.errors import OptionError
from headrace.loader.arguments import check_timeout
from headrace.loader.collation import Collation
from headrace.loader.life import Life
from headrace.loader.options import LoaderOptions
from headrace.loader.torch_arguments import read_context

FIXED = frozenset({"dataset", "batch_size", "sampler", "batch_sampler", "drop_last", "persistent_workers", "generator"})
"""What cannot be set any more: as in torch, and `generator`, from which the seed was taken."""

OPTIONS = {
    "num_workers": "num_workers",
    "collate_fn": "collate_fn",
    "pin_memory": "pin_memory",
    "prefetch_factor": "prefetch_factor",
    "timeout": "timeout_s",
    "worker_init_fn": "worker_init_fn",
}
"""What may be set, by the name of the option; the next `iter` goes by it."""

KEPT = frozenset({"multiprocessing_context", "pin_memory_device", "in_order"})
"""What may be set and is only read again."""


class TorchAttributes:
    """What the caller asked for, under torch's names."""

    _life: Life

    @property
    def options(self) -> LoaderOptions:
        """What was asked for, as options."""
        return self._life.options

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; those of torch as torch has it.

        Raises:
            OptionError: It cannot be changed, or not to this value.
        """
        if name in FIXED:
            raise OptionError(f"{name} cannot be set on a loader that is made", remedy="Make another loader")
        if name in OPTIONS:
            options = replace(self.options, **{OPTIONS[name]: value})
            check_timeout(options)
            self._life.options = options
        elif name in KEPT:
            kept: Any = read_context(value, self.options.num_workers) if name == "multiprocessing_context" else value
            self._life.given = replace(self._life.given, **{name: kept})
        else:
            super().__setattr__(name, value)

    @property
    def dataset(self) -> Any:
        """The dataset of the caller."""
        return self._life.given.dataset

    @property
    def batch_size(self) -> int | None:
        """Rows of a batch of this rank; None where a batch sampler says, or where there are no batches."""
        return self.options.batch_size

    @property
    def sampler(self) -> Any:
        """The sampler of the caller, else a `SequentialSampler` or `RandomSampler` that says whether we shuffle."""
        return self._life.given.sampler_to_read

    @property
    def batch_sampler(self) -> Any:
        """The batch sampler of the caller, else a `BatchSampler`; None where there are no batches."""
        return self._life.given.batch_sampler_to_read(self.options)

    @property
    def drop_last(self) -> bool:
        """Whether a global batch that is not full is left out."""
        return self.options.drop_last

    @property
    def collate_fn(self) -> Callable[[Any], Any]:
        """What puts the samples of a batch together: the caller's function, else what does the same as ours."""
        options = self.options
        if options.collate_fn is not None:
            return options.collate_fn
        if not options.is_batched:
            return default_convert
        return default_collate if options.collate is None else Collation(parse_rules(options.collate))

    @property
    def pin_memory(self) -> bool:
        """Whether batches are page-locked."""
        return self.options.pin_memory

    @property
    def pin_memory_device(self) -> str:
        """As it was given; torch, too, goes by the current accelerator."""
        return self._life.given.pin_memory_device

    @property
    def timeout(self) -> float:
        """Seconds for which a batch may be waited for; 0: for ever."""
        return self.options.timeout_s

    @property
    def worker_init_fn(self) -> Callable[[int], Any] | None:
        """Called in each worker process with its number."""
        return self.options.worker_init_fn

    @property
    def prefetch_factor(self) -> int | None:
        """Batches a worker in flight, where the caller named a number."""
        return self.options.prefetch_factor

    @property
    def persistent_workers(self) -> bool:
        """As it was given."""
        return self.options.persistent_workers

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The context of the start method that was given."""
        return self._life.given.multiprocessing_context

    @property
    def generator(self) -> Any:
        """The generator whose initial seed is the seed of the loader, if one was given."""
        return self._life.given.generator

    @property
    def in_order(self) -> bool:
        """As it was given; batches come in order."""
        return self._life.given.in_order
