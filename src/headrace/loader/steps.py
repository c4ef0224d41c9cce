"""Where the steps of an epoch come from: our own order, or a sampler of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

from headrace.contracts import Step
from headrace.loader.place import Place


class StepSource(Protocol):
    """Gives the steps that this rank makes in an epoch, from any place in it. A value."""

    can_be_foreseen: bool
    """Whether asking for the steps of an epoch before its time changes nothing."""

    def num_steps(self, epoch: int) -> int:
        """Batches of a whole epoch on this rank."""

    def num_left(self, place: Place) -> int:
        """Batches of the epoch that come after a place."""

    def num_done(self, place: Place) -> int:
        """Batches of the epoch that lie before a place, in batches of the present size."""

    def steps(self, place: Place) -> Iterator[Step]:
        """The steps after a place, lazily."""

    def state(self, place: Place) -> dict[str, Any]:
        """A place as JSON-serialisable values, with all that must be the same for it to mean anything."""

    def facts(self, place: Place) -> Mapping[str, Any] | None:
        """What must be the same on all ranks that open an epoch at a place; None where each rank is on its own."""

    def restore(self, state: Mapping[str, Any]) -> tuple[Self, Place]:
        """The steps that go on from a state, and the place in them.

        Raises:
            OrderError: The state belongs to another dataset or order, or is damaged; the field is named.
        """

    def resized(self, place: Place, batch_size: int) -> tuple[Self, Place]:
        """The steps in batches of another size, and a place in them.

        Raises:
            OrderError: The place lies between the accumulated batches of one step, or the size does not fit.
            OptionError: Batches are not ours to resize.
        """
