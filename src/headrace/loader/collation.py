"""The rules of `collate=` as a function, for code that calls `loader.collate_fn` by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.datasets.collate_rules import Rules
from headrace.datasets.collate_samples import collate_samples


@dataclass(frozen=True, slots=True)
class Collation:
    """Puts samples together by rules, in memory of their own."""

    rules: Rules

    def __call__(self, samples: list[Any]) -> Any:
        """A batch.

        Raises:
            CollateError: Samples that do not fit together, or a rule for no field.
        """
        return collate_samples(samples, self.rules, np.empty)
