"""The samples of a batch where only a user's transform knows what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Samples:
    """One sample a row; anything in the place of rows with a fault."""

    values: list[Any]
