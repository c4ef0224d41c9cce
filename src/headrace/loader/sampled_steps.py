"""Steps of a user's `sampler` or `batch_sampler`, honoured as torch does."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from headrace.contracts import I64, Step
from headrace.errors import OptionError
from headrace.loader.identity import Identity
from headrace.loader.place import Place
from headrace.order import SampledState


class SampledSteps:
    """Steps as the sampler draws them; an id that comes twice is augmented twice.

    Args:
        batches: The batch sampler.
        identity: Of the dataset.
        seed: Of the augmentations.
    """

    can_be_foreseen = False

    def __init__(self, batches: Any, identity: Identity, seed: int) -> None:
        self.batches = batches
        self.identity = identity
        self.seed = seed

    def num_steps(self, epoch: int) -> int:
        """What the sampler says of its length."""
        return len(self.batches)

    def num_left(self, place: Place) -> int:
        """Batches after a place, by the length that the sampler says; none where it gave more than it says."""
        return max(0, self.num_steps(place.epoch) - place.batches)

    def num_done(self, place: Place) -> int:
        """Batches before a place, never more than the sampler says."""
        return self.num_steps(place.epoch) - self.num_left(place)

    def steps(self, place: Place) -> Iterator[Step]:
        """Steps after a place. What comes before it is drawn from the sampler again and let go: ids, not samples."""
        position = 0
        for index, batch in enumerate(self.batches):
            ids = ids_of(batch)
            if index >= place.batches:
                draws = np.arange(position, position + len(ids), dtype=np.int64)
                valid = np.ones(len(ids), dtype=np.bool_)
                yield Step(index=index, epoch=place.epoch, ids=ids, valid=valid, draws=draws)
            position += len(ids)

    def state(self, place: Place) -> dict[str, Any]:
        """The epoch and the batches delivered of it."""
        return self._state(place).to_dict()

    def facts(self, place: Place) -> None:
        """Nothing: what the sampler of one rank gives is none of the others' business."""

    def restore(self, state: Mapping[str, Any]) -> tuple[SampledSteps, Place]:
        """These steps, and the place in them.

        Raises:
            OrderError: The state belongs to another dataset or seed, or is damaged.
        """
        saved = SampledState.from_dict(state)
        saved.check_same_run(self._state(Place()))
        return self, Place(epoch=saved.epoch, batches=saved.batches_delivered)

    def resized(self, place: Place, batch_size: int) -> tuple[SampledSteps, Place]:
        """Refused.

        Raises:
            OptionError: Always: the batches are the sampler's.
        """
        raise OptionError(
            "set_batch_size() cannot change the batches of a sampler", remedy="Use shuffle= and seed= instead of one"
        )

    def _state(self, place: Place) -> SampledState:
        identity = self.identity
        return SampledState(
            fingerprint=identity.fingerprint,
            num_samples=identity.num_samples,
            seed=self.seed,
            epoch=place.epoch,
            batches_delivered=place.batches,
        )


def ids_of(batch: Any) -> I64:
    """The sample numbers of one batch of a sampler, shape (rows,).

    Raises:
        OptionError: It is no list of integers, or empty.
    """
    try:
        ids = np.array([operator.index(one) for one in batch], dtype=np.int64)
    except (TypeError, OverflowError) as error:
        raise OptionError(
            "a sampler gives something that is no sample number",
            got=repr(batch)[:80],
            accepted="integers",
            remedy="Give numbers, and let the dataset's __getitem__ look its keys up in a list.",
        ) from error
    if len(ids) == 0:
        raise OptionError("a batch sampler gives an empty batch", accepted="batches of one sample or more")
    return ids


class BatchedSampler:
    """Batches from a sampler of single ids."""

    def __init__(self, sampler: Any, batch_size: int, *, drop_last: bool) -> None:
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        num = len(self.sampler)
        return num // self.batch_size if self.drop_last else -(-num // self.batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        ids: Iterable[Any] = iter(self.sampler)
        while batch := list(islice(ids, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch
