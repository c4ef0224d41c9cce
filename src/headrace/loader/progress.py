"""Where a loader stands: which epoch comes next, how many batches were delivered, which rows of the last are good."""

from __future__ import annotations

import operator

from headrace.contracts import Bools
from headrace.errors import OptionError


class Progress:
    """Shared by a loader and its live iterator. Epochs advance by themselves; `choose` is allowed and exact."""

    def __init__(self) -> None:
        self.epoch = 0
        """The epoch of the current iterator, or the one that the next iterator starts."""
        self.step = 0
        """Batches delivered in that epoch."""
        self.valid: Bools | None = None
        """Good rows of the batch just delivered."""
        self.upcoming = 0
        self.chosen = False

    def begin(self) -> int:
        """Starts an epoch and says which."""
        self.epoch, self.step, self.valid, self.chosen = self.upcoming, 0, None, False
        return self.epoch

    def delivered(self, valid: Bools) -> None:
        """A batch of the current epoch was handed over: the epoch counts as used."""
        self.step += 1
        self.valid = valid
        self._used()

    def ended(self) -> None:
        """The current epoch came to its end, perhaps without a batch."""
        self._used()

    def choose(self, epoch: int) -> None:
        """The next iterator starts this epoch, whatever the current one still delivers.

        Raises:
            OptionError: `epoch` is no integer or negative.
        """
        try:
            number = operator.index(epoch)
        except TypeError:
            number = -1
        if number < 0 or isinstance(epoch, bool):
            raise OptionError("set_epoch needs an epoch", got=repr(epoch), accepted="an integer of 0 or more")
        self.upcoming, self.chosen = number, True

    def _used(self) -> None:
        if not self.chosen:
            self.upcoming = self.epoch + 1
