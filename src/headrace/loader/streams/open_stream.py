"""One stream that is being read."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from headrace._base.hashing import sample_keys
from headrace._base.units import count
from headrace.errors import OrderError
from headrace.loader.streams.beginning import Beginning
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.recognise import can_be_resumed
from headrace.loader.streams.turns import Opening
from headrace.order import StreamPlace
from headrace.recipes.randomness import sample_randomness


class OpenStream:
    """Gives the samples of a stream, batch by batch. Exceptions keep their type and carry a note that names the place.

    The samples of one batch are read with `headrace.rng()` keyed by the first of them: a generator does not tell where
    one sample ends and work on the next one begins.

    Args:
        part: What is read.
        plan: The streams of the rank.
        stream: Number of this one.
        epoch: The epoch.
        opening: Where it goes on.

    Raises:
        OrderError: It ends before the place where it is to go on.
        Exception: Whatever the dataset raises.
    """

    def __init__(self, part: Iterable[Any], plan: StreamPlan, stream: int, epoch: int, opening: Opening) -> None:
        self.name = f"stream {stream} of {type(part).__name__}"
        self.part_number = plan.part(stream)
        self.size = plan.batch_size or 1
        self.seed = plan.seed
        self.epoch = epoch
        self.num_samples = 0
        self.ended = False
        self.beginning = Beginning() if opening.looks else None
        self.iterator, self.stateful = self._begin(part, opening.place)

    def read(self) -> list[Any]:
        """The samples of the next batch; fewer, or none, at the end."""
        if self.ended:
            return []
        first = np.array([self.num_samples], dtype=np.int64)
        draws = np.array([self.part_number], dtype=np.int64)
        key = int(sample_keys(self.seed, self.epoch, first, draws=draws)[0])
        try:
            with sample_randomness(key):
                samples = list(islice(self.iterator, self.size))
        except (Exception, SystemExit) as error:
            error.add_note(f"headrace: {self.name}, in the batch behind its first {count(self.num_samples, 'sample')}")
            raise
        self.num_samples += len(samples)
        self.ended = len(samples) < self.size
        return samples

    def state(self) -> Any:
        """Where the dataset says that it stands; None where it does not say. A copy: the dataset goes on."""
        return copy.deepcopy(self.stateful.state_dict()) if self.stateful is not None else None

    def _begin(self, part: Iterable[Any], place: StreamPlace) -> tuple[Iterator[Any], Any]:
        """An iterator that stands at a place, and whoever knows where it stands."""
        iterator = iter(part)
        stateful: Any = next((one for one in (iterator, part) if can_be_resumed(one)), None)
        if place.samples and (stateful is None or place.dataset is None):
            self._skip(iterator, place)
        elif place.samples:
            stateful.load_state_dict(copy.deepcopy(place.dataset))
            self.num_samples = place.samples
            iterator = iterator if stateful is iterator else iter(part)
        return iterator, stateful

    def _skip(self, iterator: Iterator[Any], place: StreamPlace) -> None:
        """Reads again what was delivered, batch by batch, so that it draws the numbers that it drew then.

        Raises:
            OrderError: There is less than that.
        """
        self.iterator = iterator
        for _ in range(place.batches):
            self.read()
        if self.num_samples != place.samples:
            raise OrderError(
                "The state does not fit this dataset: a stream ends before the place where it is to go on",
                got=f"{count(self.num_samples, 'sample')} in {self.name}",
                accepted=f"{count(place.samples, 'sample')}, which were delivered when the state was saved",
                remedy="Load the state with the dataset that it was saved with; it must give the same samples again, "
                "or have state_dict() and load_state_dict()",
            )
