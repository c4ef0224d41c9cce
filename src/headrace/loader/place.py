"""A place between two batches of an epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a loader stands, or where its next iterator starts. The default is the beginning of everything."""

    epoch: int = 0
    """Epoch, from 0."""
    start: int = 0
    """Samples, over all ranks, that the epoch delivered in batches of another size before this size was set."""
    batches: int = 0
    """Batches that this rank delivered after those."""

    @property
    def is_beginning(self) -> bool:
        """Whether the epoch has delivered nothing yet."""
        return self.start == 0 and self.batches == 0

    def after_batch(self) -> Place:
        """The place after one more batch."""
        return replace(self, batches=self.batches + 1)

    def batches_since(self, other: Place) -> int:
        """Batches after an earlier place of the epoch, or of the whole epoch, as far as they have the present size."""
        is_same = (self.epoch, self.start) == (other.epoch, other.start)
        return max(0, self.batches - (other.batches if is_same else 0))

    def next_epoch(self) -> Place:
        """The beginning of the next epoch."""
        return Place(epoch=self.epoch + 1)
