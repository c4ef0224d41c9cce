"""Where a run stands that follows a sampler of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from headrace.order.state_values import COUNT, TEXT, check_same, read_values, write_values

REMEDIES = {
    "num_samples": "Load the state with the dataset that it was saved with",
    "fingerprint": "Load the state with the dataset that it was saved with",
    "seed": "Make the loader with seed={saved}",
}
"""Fields that must be the same, the most telling first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledState:
    """A position in what a sampler draws: as exact as the sampler repeats itself."""

    fingerprint: str
    """Of the dataset."""
    num_samples: int
    seed: int
    """Of the augmentations."""
    epoch: int
    """Epoch that the next batch belongs to."""
    batches_delivered: int
    """Batches of that epoch that this rank delivered."""

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON-serialisable values."""
        return write_values("sampler", asdict(self))

    @staticmethod
    def from_dict(state: Mapping[str, Any]) -> SampledState:
        """The state that `to_dict` wrote.

        Raises:
            OrderError: Another kind or a newer format, or a field that is missing, unknown or holds what it cannot.
        """
        accepted = {field.name: TEXT if field.name == "fingerprint" else COUNT for field in fields(SampledState)}
        return SampledState(**read_values("sampler", state, accepted))

    def check_same_run(self, current: SampledState) -> None:
        """Checks that a loader whose own state is `current` can go on from this one.

        Raises:
            OrderError: Another dataset or seed; the field and both values are named.
        """
        for name, remedy in REMEDIES.items():
            saved = getattr(self, name)
            check_same(name, saved, getattr(current, name), remedy.format(saved=saved))
