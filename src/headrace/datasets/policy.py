"""What happens to samples that are faulty or incomplete, and how samples become a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.contracts import Allocate, Missing, OnError
from headrace.datasets.collate_rules import STACK, Rule, Rules
from headrace.datasets.collate_samples import collate_samples, gives_one_value
from headrace.recipes.stacking import Ragged


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policies of one loader for one dataset."""

    on_error: OnError = "raise"
    missing: Missing = "raise"
    collate_fn: Callable[[list[Any]], Any] | None = None
    """Called with the list of a batch's samples; None: the rules say how they become a batch."""
    rules: Rules = field(default_factory=Rules)
    """As the caller named them, for samples whose structure only a transform knows."""
    leaf_rules: Mapping[str, Rule] = field(default_factory=dict)
    """By the names of leaves, for samples as the dataset has them."""

    @property
    def wants_samples(self) -> bool:
        """Whether whole samples are put together, not each leaf on its own."""
        return self.collate_fn is not None or self.rules.whole is not None

    @property
    def fields_of_functions(self) -> list[Any]:
        """The fields that a function of `collate=` puts together, where samples are put together field by field."""
        return (
            [] if self.collate_fn is not None else [name for name, rule in self.rules.fields.items() if callable(rule)]
        )

    def rule_of(self, leaf: str) -> Rule:
        """The rule of a leaf."""
        return self.leaf_rules.get(leaf, STACK)

    def ragged(self, leaf: str) -> Ragged:
        """What images of different sizes become: only a function or a rule of the caller can put those together."""
        return "refuse" if not self.wants_samples and self.rule_of(leaf) == STACK else "list"

    def gives_one_value(self, sample: Any) -> bool:
        """Whether batches of such samples are one value, even where they are lists; not known of a `collate_fn`."""
        return gives_one_value(sample, self.rules, self.collate_fn)

    def put_together(self, samples: list[Any], allocate: Allocate) -> Any:
        """A batch of samples."""
        if self.collate_fn is not None:
            return self.collate_fn(samples)
        return collate_samples(samples, self.rules, allocate, one_kind=True)
