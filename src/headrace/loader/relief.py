"""Worker processes that start while another engine makes the batches, and take over from it between two of them.

Nobody waits for their start. Whatever keeps them from it, the loader stays as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

from headrace.errors import HeadraceError, LoaderClosedError
from headrace.loader.engine_choice import WORTH_A_START_ASIDE_S, EngineChoice, Later
from headrace.loader.makers import Makers

FROM_THE_LOOP = 7
"""Calls between a warning and the line of the user that takes a batch."""


class Relief:
    """Processes that wait for their time, start, and take over.

    Args:
        later: What they are, and when they pay.
    """

    def __init__(self, later: Later) -> None:
        self.later = later
        self.makers: Makers | None = None
        """Once they were started."""
        self.in_charge = False
        """Whether they have taken over."""
        self.given_up: str | None = None
        """Why they never will."""
        self.num_past = 0
        """Samples delivered in epochs before, with the dataset as it is."""
        self.outline: str | None = None
        """Of the dataset at the begin of the epoch; of the copy that the workers have."""

    def is_wanted(self, num_delivered: int, outline: str | None) -> bool:
        """Whether the processes are to start at the begin of an epoch. A dataset that has changed begins anew.

        Args:
            num_delivered: Samples that the iterator before has delivered.
            outline: Of the dataset.
        """
        if outline != self.outline:
            self.reset()
        else:
            self.num_past += num_delivered
        self.outline = outline
        return self.given_up is None and self.makers is None and self.later.is_worth_a_start(self.num_past)

    def start(self, hire: Callable[[], Makers]) -> None:
        """Starts them.

        Args:
            hire: Gives them, or raises why there can be none.
        """
        try:
            self.makers = hire()
            self.makers.start()
        except Exception as error:  # noqa: BLE001 - the loader goes on without them, whatever it is
            self.give_up(in_words(error))
        except BaseException:  # Ctrl-C
            self.reset()
            raise

    def are_ready(self) -> bool:
        """Whether they could take over now. Those that never will are given up."""
        if self.makers is None or self.in_charge:
            return False
        try:
            return self.makers.are_ready()
        except LoaderClosedError as error:
            self.give_up(in_words(error))
        except Exception as error:  # noqa: BLE001 - code of the user has failed in a worker, or the system has ended one
            self.give_up(in_words(error))
            warnings.warn(
                f"worker processes, which were to make the batches from here on, have not started: {error}",
                RuntimeWarning,
                stacklevel=FROM_THE_LOOP,
            )
        return False

    def give_up(self, why: str) -> None:
        """They do not take over, and are not started again."""
        self.given_up = why
        self.reset()

    def reset(self) -> None:
        """Ends those that are there; epochs count from here on."""
        makers, self.makers, self.in_charge, self.num_past = self.makers, None, False, 0
        if makers is not None:
            makers.close()

    def explained(self, choice: EngineChoice) -> EngineChoice:
        """The choice of the present engine, with what was, or may become, of it."""
        who = "the caller's thread" if choice.kind == "caller" else "threads"
        if self.given_up is not None:
            reason = f"{choice.reason}; worker processes do not take over: {self.given_up}"
        elif self.in_charge:
            reason = f"{choice.reason}; they have taken over, since epochs are gone through again"
        elif self.makers is not None:
            reason = f"{choice.reason}; worker processes start meanwhile, to take over from {who}"
        else:
            worth = f"another epoch begins, and Python's part of all comes to {WORTH_A_START_ASIDE_S} s"
            reason = f"{choice.reason}; worker processes take over once {worth}"
        return replace(choice, reason=reason)


def in_words(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, HeadraceError):
        return error.what if error.got is None else f"{error.what}: {error.got}"
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
