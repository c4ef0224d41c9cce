"""What happens to samples that are faulty or incomplete, and how samples become a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.contracts import Missing, OnError
from headrace.recipes.stacking import Ragged


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policies of one loader for one dataset."""

    on_error: OnError = "raise"
    missing: Missing = "raise"
    collate_fn: Callable[[list[Any]], Any] | None = None
    """Called with the list of a batch's samples; None: each leaf is collated on its own, as torch's default does."""

    @property
    def ragged(self) -> Ragged:
        """What images of different sizes become: only a function of the caller can put those together."""
        return "refuse" if self.collate_fn is None else "list"
