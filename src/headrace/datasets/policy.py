"""What happens to samples that are faulty or incomplete, and how samples become a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.contracts import Missing, OnError


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policies of one loader for one dataset."""

    on_error: OnError = "raise"
    missing: Missing = "raise"
    collate_fn: Callable[[list[Any]], Any] | None = None
    """Called with the list of a batch's samples; None: each leaf is collated on its own, as torch's default does."""
