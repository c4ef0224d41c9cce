"""What was packed, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace._base.units import count, format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedAttribute:
    """A list or dict of a dataset that workers share instead of having one each."""

    path: str
    """Where it is, from the dataset: `samples`, `dataset.samples`, `datasets[1].targets`."""
    num_items: int
    plain_bytes: int
    """What its objects take in each process, estimated from a sample."""
    packed_bytes: int
    """What the shared block takes, once."""
    layout: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedDataset:
    """A dataset to be sent to workers."""

    dataset: Any
    """A copy with shared attributes; the user's own object where there was nothing to share."""
    attributes: tuple[PackedAttribute, ...]

    @property
    def plain_bytes(self) -> int:
        """What the attributes take in each process as they are, in bytes."""
        return sum(attribute.plain_bytes for attribute in self.attributes)

    @property
    def packed_bytes(self) -> int:
        """What they take in shared memory, once, in bytes."""
        return sum(attribute.packed_bytes for attribute in self.attributes)

    def saved_bytes(self, num_workers: int) -> int:
        """Memory that so many workers do not take, in bytes: their own lists, less the shared ones."""
        return max(0, self.plain_bytes * num_workers - self.packed_bytes)

    def explain(self, num_workers: int) -> str | None:
        """One line for people, None where nothing was packed."""
        if not self.attributes:
            return None
        names = ", ".join(f"{one.path} ({count(one.num_items, 'item')})" for one in self.attributes)
        return (
            f"{names}: {format_bytes(self.packed_bytes)} shared by {count(num_workers, 'worker')} "
            f"instead of {format_bytes(self.plain_bytes)} in each; {format_bytes(self.saved_bytes(num_workers))} saved"
        )
