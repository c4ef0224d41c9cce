"""Samples become a batch of the same structure: each field by its rule, leaves stacked in leased memory.

Without rules the batch is what `torch.utils.data.default_collate` makes of it; dataclasses stay dataclasses besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from headrace.contracts import Allocate
from headrace.datasets.collate_rules import Rule, Rules
from headrace.datasets.padding import Pad, pad
from headrace.datasets.stacking import is_registered, stack
from headrace.datasets.structure import Name, columns, part_names, rebuilt
from headrace.datasets.undecoded import remedy_of_bytes
from headrace.errors import CollateError, HeadraceError

Place: TypeAlias = tuple[Name, ...]
"""The name of a field, and of its part, and so on; () of whole samples."""

MOST_PARTS = 1 << 16
"""Tensors that the values of one field of our own datasets become: each takes 0.6 KB and 5 us. A stranger's file may
hold a million numbers in a list. What a user's dataset gives is his own, as in torch."""


def collate_samples(samples: Sequence[Any], rules: Rules, allocate: Allocate, *, one_kind: bool = False) -> Any:
    """A batch.

    Args:
        samples: One a row, all of one structure.
        rules: By the names of fields (dicts, dataclasses, named tuples) or by their places (tuples, lists).
        allocate: Where the memory comes from.
        one_kind: Whether values are refused of which some are texts and others are not; torch refuses them or gives
            them back as they are, by what the first row has.

    Raises:
        CollateError: Samples that do not fit together, with the field, the first row that differs, and what differs;
            or a rule for no field.
    """
    if rules.whole is not None:
        return collate_field(samples, rules.whole, (), allocate, one_kind=one_kind)
    if not rules.fields:
        return collate_field(samples, "stack", (), allocate, one_kind=one_kind)
    names = part_names(samples[0]) or []
    lost = next((name for name in rules.fields if name not in names), None)
    if lost is not None:
        raise CollateError(
            f"collate= names a field that the samples do not have: {lost!r}",
            stage="collate",
            got=type(samples[0]).__name__,
            accepted=", ".join(map(repr, names)) or "a rule for whole samples",
        )
    parts = [
        collate_field(column, rules.of(name), (name,), allocate, one_kind=one_kind)
        for name, column in zip(names, split(samples, names, ()), strict=True)
    ]
    return rebuilt(samples[0], names, parts)


def gives_one_value(sample: Any, rules: Rules, collate_fn: Callable[[list[Any]], Any] | None) -> bool:
    """Whether a batch of such samples is one value, even where it is a list, as of texts: samples have no parts.

    What a function makes of whole samples is its own.
    """
    if collate_fn is not None or callable(rules.whole):
        return False
    return rules.whole is not None or part_names(sample) is None


def collate_field(
    values: Sequence[Any], rule: Rule, place: Place, allocate: Allocate, *, one_kind: bool = False
) -> Any:
    """The values of one field, by its rule.

    Raises:
        CollateError: They do not fit together; the error names the field, the first row that differs, and what differs.
    """
    if rule == "list":
        return list(values)
    if callable(rule):
        return call_rule(rule, list(values), dotted(place))
    try:
        if isinstance(rule, Pad):
            return pad(values, rule, allocate)
        return stack_parts(values, place, allocate, one_kind=one_kind)
    except RecursionError:
        raise unlike(values, place, "values nested deeper than Python's stack") from None
    except HeadraceError as error:
        if error.remedy is None and place and any(isinstance(value, bytes) for value in values):
            error.remedy = remedy_of_bytes(str(place[0]))
        error.at(field=dotted(place) or None, stage="collate")
        raise


def call_rule(rule: Callable[[list[Any]], Any], values: list[Any], field: str) -> Any:
    """What the user's function makes of the values; what it raises says of which field."""
    try:
        return rule(values)
    except Exception as error:
        error.add_note(f"headrace: raised by collate= of {f'field {field!r}' if field else 'samples'}")
        if field and any(isinstance(value, bytes) for value in values):
            error.add_note(f"headrace: {remedy_of_bytes(field)}")
        raise


def stack_parts(values: Sequence[Any], place: Place, allocate: Allocate, *, one_kind: bool) -> Any:
    """Stacks values, or the parts of values, however deep they lie."""
    if one_kind and are_mixed(values):
        raise unlike(values, place)
    names = part_names(values[0])
    if one_kind and not place[1:] and parts_of(values[0], MOST_PARTS) > MOST_PARTS:
        raise too_many_parts(place)
    if names is None or is_registered(values[0]):
        try:
            return stack(values, allocate)
        except (RuntimeError, TypeError, ValueError, KeyError) as error:
            raise unlike(values, place) from error
    parts = [
        stack_parts(column, (*place, name), allocate, one_kind=one_kind)
        for name, column in zip(names, split(values, names, place), strict=True)
    ]
    return rebuilt(values[0], names, parts)


def parts_of(value: Any, most: int) -> int:
    """How many values and empty lists lie in a value, however deep; counted until there are more than `most`."""
    names = part_names(value)
    if not names:
        return 1
    if len(names) > most:
        return len(names)
    num = 0
    for (part,) in columns([value], names):
        num += parts_of(part, most - num)
        if num > most:
            break
    return num


def too_many_parts(place: Place) -> CollateError:
    """The error of values that would become too many tensors."""
    rule = f'collate={{{place[0]!r}: "list"}}' if place else 'collate="list"'
    return CollateError(
        "a value of a batch has too many parts, each of which would become a tensor of its own",
        field=dotted(place) or None,
        stage="collate",
        got=f"more than {MOST_PARTS}",
        accepted=f"at most {MOST_PARTS} numbers and texts in lists and dicts",
        remedy=f"{rule} keeps the values as they are, headrace.field(..., get=...) takes a part as one tensor; "
        "keep arrays of numbers as npy",
    )


def split(samples: Sequence[Any], names: Sequence[Name], place: Place) -> Sequence[Sequence[Any]]:
    """The parts of all samples, one column a name.

    Raises:
        CollateError: Samples of different structure.
    """
    try:
        return columns(samples, names)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise unlike(samples, place) from error


def dotted(place: Place) -> str:
    """How errors call a field, or a part of one."""
    return ".".join(map(str, place))


def unlike(values: Sequence[Any], place: Place, found: str | None = None) -> CollateError:
    """The error of values that do not fit together, with the rule that would put them together."""
    rule = f'collate={{{place[0]!r}: "list"}}' if place else 'collate="list"'
    return CollateError(
        "the values of a batch do not fit together",
        field=dotted(place) or None,
        row=first_unlike(values),
        stage="collate",
        got=found or difference(values),
        accepted="numbers, strings, arrays or tensors of equal shape and type",
        remedy=f'{rule} keeps them as they are, "pad" in its place fills them up, a function makes what you want of '
        "them; or bring them to one shape in the transform",
    )


def are_mixed(values: Sequence[Any]) -> bool:
    """Whether some values are texts or bytes and others are not.

    torch gives such a batch back as it is where the first row is a text, and refuses it where it is none. None, which
    stands where a sample lacks a field, is of every kind.
    """
    kinds = set(map(type, values)) - {type(None)}
    return len(kinds) > 1 and len({plain_kind(kind) for kind in kinds}) > 1


def plain_kind(kind: type) -> str:
    """What torch makes of values of a type: texts and bytes stay alone, all others are put together."""
    return "text" if issubclass(kind, str) else "bytes" if issubclass(kind, bytes) else "other"


def first_unlike(values: Sequence[Any]) -> int | None:
    """The first row whose value is of another type, shape or structure than that of the first row; None: none is."""
    first, *others = ((describe(value), part_names(value)) for value in values)
    return next((row for row, other in enumerate(others, start=1) if other != first), None)


def difference(values: Sequence[Any]) -> str:
    """The kinds of values there are, a few of them."""
    return ", ".join(list(dict.fromkeys(map(describe, values)))[:4])


def describe(value: Any) -> str:
    """The type and shape of a value, or its parts."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        layout = str(getattr(value, "layout", "torch.strided")).removeprefix("torch.")
        kind = type(value).__name__ if layout == "strided" else f"{layout} {type(value).__name__}"
        return f"{kind}{tuple(shape)} of {getattr(value, 'dtype', '?')}"
    names = part_names(value)
    return type(value).__name__ if names is None else f"{type(value).__name__} of {len(names)}"
