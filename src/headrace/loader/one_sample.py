"""Delivery without batches (`batch_size=None`): each step is one sample, as torch hands it over then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.utils.data import default_convert

from headrace.loader.options import LoaderOptions


@dataclass(frozen=True, slots=True)
class OneSample:
    """Stands where a `collate_fn` stands, and gets the only sample of a step."""

    convert: Callable[[Any], Any]

    def __call__(self, samples: list[Any]) -> Any:
        """The sample, converted."""
        return self.convert(samples[0])


def collation_of(options: LoaderOptions) -> Callable[[list[Any]], Any] | None:
    """What puts the samples of a step together, where that is not the default."""
    if options.is_batched:
        return options.collate_fn
    return OneSample(options.collate_fn or default_convert)
