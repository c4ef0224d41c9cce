"""Samplers that want to be told the epoch, and what is said where nobody tells them."""

from __future__ import annotations

import warnings
from typing import Any

from torch.utils.data import DistributedSampler

from headrace.loader.place import Place
from headrace.loader.torch_arguments import TorchArguments


class EpochReminder:
    """A `DistributedSampler` gives each epoch the order of the first one until its `set_epoch` is called.

    Args:
        given: What the caller has given.
    """

    def __init__(self, given: TorchArguments) -> None:
        candidates = (given.sampler, given.batch_sampler, getattr(given.batch_sampler, "sampler", None))
        self.sampler: Any = next((one for one in candidates if callable(getattr(one, "set_epoch", None))), None)
        self.last: tuple[int, object] | None = None
        """The epoch of the iterator before, and what the sampler took for its own."""
        self.has_warned = False

    def tell(self, epoch: int) -> None:
        """Passes on what the loader was told."""
        if self.sampler is not None:
            self.sampler.set_epoch(epoch)

    def look(self, place: Place) -> None:
        """Before an iterator begins: warns, once, where this epoch gets the order of the one before."""
        if not isinstance(self.sampler, DistributedSampler) or not self.sampler.shuffle:
            return
        now = place.epoch, self.sampler.epoch
        repeats = self.last is not None and self.last[0] != now[0] and self.last[1] == now[1]
        self.last = now
        if repeats and not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"the DistributedSampler gives epoch {place.epoch} the order of the epoch before: call its "
                "set_epoch(epoch), or this loader's, before each epoch. Without a sampler this loader splits the "
                "dataset over the ranks by itself, in another order each epoch.",
                stacklevel=5,
            )
