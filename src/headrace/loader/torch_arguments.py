"""Arguments of torch's loader that are kept to be read, or decide who says the order."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.context import BaseContext
from typing import Any

from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch.utils.data.dataloader import _InfiniteConstantSampler

from headrace.errors import OptionError, OptionTypeError
from headrace.loader.options import LoaderOptions
from headrace.loader.streams.recognise import is_stream


@dataclass(frozen=True, kw_only=True)
class TorchArguments:
    """What the caller has given, beside the options."""

    dataset: Any
    sampler: Any = None
    batch_sampler: Any = None
    generator: Any = None
    multiprocessing_context: BaseContext | None = None
    pin_memory_device: str = ""
    in_order: bool = True
    shuffles: bool = False
    """Whether torch would have shuffled."""

    @property
    def is_stream(self) -> bool:
        """Whether the dataset can only be iterated over."""
        return is_stream(self.dataset, sampled=self.sampler is not None or self.batch_sampler is not None)

    @cached_property
    def sampler_to_read(self) -> Any:
        """The sampler of the caller, else the one that torch would have made.

        It says what the loader does (`isinstance`, `len`, `data_source`); our own order does not come from it.
        """
        if self.sampler is not None:
            return self.sampler
        if self.is_stream:
            return _InfiniteConstantSampler()
        if self.shuffles:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def batch_sampler_to_read(self, options: LoaderOptions) -> Any:
        """The batch sampler of the caller, else the one that torch would have made; None where there are no batches."""
        if self.batch_sampler is not None or options.batch_size is None:
            return self.batch_sampler
        return BatchSampler(self.sampler_to_read, options.batch_size, options.drop_last)


def read_context(context: Any, num_workers: object) -> BaseContext | None:
    """A start method as its context, as torch keeps it. Worker processes are never forked, whatever it says.

    Raises:
        OptionError: There is no such start method here, or there are no workers.
        OptionTypeError: Neither a name nor a context.
    """
    if context is None:
        return None
    if num_workers == 0:
        raise OptionError(
            "multiprocessing_context is for workers, and there are none",
            got=repr(context),
            accepted="None with num_workers=0",
        )
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in methods:
        accepted = ", ".join(map(repr, methods))
        raise OptionError("multiprocessing_context names no start method", got=repr(context), accepted=accepted)
    found = multiprocessing.get_context(context) if isinstance(context, str) else context
    if not isinstance(found, BaseContext):
        raise OptionTypeError(
            "multiprocessing_context has a wrong type",
            got=repr(context),
            accepted="a context of multiprocessing, or the name of a start method",
        )
    return found
