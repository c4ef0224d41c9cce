"""What `collate=` says about the fields of a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from headrace.datasets.padding import Pad
from headrace.errors import OptionError

Named: TypeAlias = Literal["stack", "pad", "list"]
Rule: TypeAlias = Named | Pad | Callable[[list[Any]], Any]
"""How the values of one field over a batch become one: stacked as torch does, padded, a list as they are, or what a
function makes of that list."""
RulesArgument: TypeAlias = Rule | Mapping[str | int, Rule] | None

STACK: Rule = "stack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A rule for each field that has one; the others are stacked."""

    whole: Rule | None = None
    """The rule of samples as a whole, where no fields are named."""
    fields: Mapping[Any, Rule] = field(default_factory=dict)
    """Rules by the names of fields, or by their places."""

    def of(self, name: Any) -> Rule:
        """The rule of a field."""
        return self.fields.get(name, STACK)


def parse_rules(argument: RulesArgument) -> Rules:
    """Reads `collate=`.

    Raises:
        OptionError: Something that is no rule.
    """
    if argument is None:
        return Rules()
    if not isinstance(argument, Mapping):
        return Rules(whole=checked(argument, "samples"), fields={})
    return Rules(fields={name: checked(rule, repr(name)) for name, rule in argument.items()})


def checked(rule: Any, place: str) -> Rule:
    """A rule with "pad" spelt out."""
    if isinstance(rule, str) and rule in get_args(Named):
        return Pad() if rule == "pad" else rule  # type: ignore[return-value]
    if isinstance(rule, Pad) or (callable(rule) and rule is not Pad):
        return rule  # type: ignore[no-any-return]
    raise OptionError(
        f"collate has no such rule for {place}",
        got=repr(rule),
        accepted="'stack', 'pad', 'list', a headrace.Pad(), or a function of the list of values",
    )


def leaf_rules(rules: Rules, leaves: Sequence[str], *, by_place: bool, complete: bool) -> dict[str, Rule]:
    """The rules by the names of a dataset's leaves.

    Args:
        rules: As the caller named them.
        leaves: Names of the leaves.
        by_place: Whether a leaf may be named by its place too: samples are tuples.
        complete: Whether samples stay as the dataset has them, so that a rule for another field is a mistake.

    Raises:
        OptionError: A rule for a field that no sample has.
    """
    found = {}
    for name, rule in rules.fields.items():
        if by_place and isinstance(name, int) and 0 <= name < len(leaves):
            found[leaves[name]] = rule
        elif name in leaves:
            found[str(name)] = rule
        elif complete:
            raise OptionError(
                "collate= names a field that the samples do not have", got=repr(name), accepted=", ".join(leaves)
            )
    return found
