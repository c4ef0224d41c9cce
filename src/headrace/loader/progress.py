"""Where a loader stands: the place after the last batch, where the next iterator starts, which rows are good."""

from __future__ import annotations

import operator

from headrace.contracts import Bools
from headrace.errors import OptionError
from headrace.loader.place import Place

LARGEST_EPOCH = (1 << 64) - 1
"""Epochs are hashed as 64 bits, and states hold no larger one."""


class Progress:
    """Shared by a loader and its live iterator. Epochs advance by themselves; `choose` is allowed and exact."""

    def __init__(self, place: Place | None = None) -> None:
        self.place = place or Place()
        """After the last batch that was delivered; before the first, where the iterator has begun or will begin."""
        self.upcoming = self.place
        """Where the next iterator starts."""
        self.valid: Bools | None = None
        """Good rows of the batch just delivered."""
        self.is_over = False
        """Whether the end of the current epoch was signalled."""
        self.is_chosen = False
        """Whether `upcoming` was chosen since the last iterator began."""

    @property
    def here(self) -> Place:
        """What a user takes for the present place: an epoch goes on being the present one when it is over."""
        return self.upcoming if self.place.is_beginning or (self.is_over and self.is_chosen) else self.place

    @property
    def saved(self) -> Place:
        """What a state describes. An epoch whose end was not signalled has a rest to deliver, if only an empty one."""
        return self.upcoming if self.is_over or self.is_chosen else self.place

    def begin(self) -> Place:
        """An iterator begins; says where."""
        self.place, self.valid, self.is_over, self.is_chosen = self.upcoming, None, False, False
        return self.place

    def delivered(self, valid: Bools) -> None:
        """A batch of the current epoch was handed over: the epoch counts as used."""
        self.place = self.place.after_batch()
        self.valid = valid
        self._used()

    def ended(self) -> None:
        """The current epoch came to its end, perhaps without a batch."""
        self.is_over = True
        self._used()

    def choose(self, epoch: int) -> None:
        """The next iterator starts this epoch, whatever the current one still delivers.

        A place inside of that epoch that was loaded stays: loops that announce every epoch go on from it.

        Raises:
            OptionError: `epoch` is no integer or negative.
        """
        try:
            number = operator.index(epoch)
        except TypeError:
            number = -1
        if not 0 <= number <= LARGEST_EPOCH or isinstance(epoch, bool):
            raise OptionError("set_epoch needs an epoch", got=repr(epoch), accepted="an integer from 0 to 2^64 - 1")
        if number != self.upcoming.epoch:
            self.upcoming = Place(epoch=number)
        self.is_chosen = True

    def go_to(self, place: Place) -> None:
        """The loader stands at this place, and its next iterator starts there."""
        self.place, self.upcoming, self.valid, self.is_over, self.is_chosen = place, place, None, False, True

    def resize(self, place: Place, upcoming: Place) -> None:
        """The same places, in batches of another size."""
        self.place, self.upcoming = place, upcoming

    def _used(self) -> None:
        if not self.is_chosen:
            self.upcoming = self.place.next_epoch()
