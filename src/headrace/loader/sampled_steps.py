"""Steps of a user's `sampler` or `batch_sampler`, honoured as torch does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from headrace.contracts import Step
from headrace.errors import OptionError
from headrace.loader.identity import Identity
from headrace.loader.place import Place
from headrace.loader.sampled_keys import Reading
from headrace.order import SampledState


class SampledSteps:
    """Steps as the sampler draws them; an id that comes twice is augmented twice.

    Args:
        batches: Gives lists of keys: the batch sampler, or one of `batched_samplers`.
        read: Makes the sample numbers of a batch out of its keys.
        identity: Of the dataset.
        seed: Of the augmentations.
    """

    can_be_foreseen = False

    def __init__(self, batches: Any, read: Reading, identity: Identity, seed: int) -> None:
        self.batches = batches
        self.read = read
        self.identity = identity
        self.seed = seed

    def num_steps(self, epoch: int) -> int:
        """What the sampler says of its length.

        Raises:
            TypeError: It has none.
        """
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
            rows = self.read(batch, position)
            num_rows = len(rows.ids)
            if index >= place.batches:
                draws = np.arange(position, position + num_rows, dtype=np.int64)
                valid = np.ones(num_rows, dtype=np.bool_)
                yield Step(index=index, epoch=place.epoch, ids=rows.ids, valid=valid, draws=draws, keys=rows.keys)
            position += num_rows

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
