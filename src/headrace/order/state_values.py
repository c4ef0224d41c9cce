"""Reading a state back from what a checkpoint kept: nothing of it is believed before it is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from headrace.errors import OrderError

FORMAT = 1

Kind: TypeAlias = Literal["order", "sampler", "streams"]

MADE_WITH: Mapping[str, str] = {
    "order": "shuffle= and seed=",
    "sampler": "sampler= or batch_sampler=",
    "streams": "a dataset that can only be iterated over",
}
"""How the loaders are made that save each kind of state."""


LARGEST_COUNT = (1 << 64) - 1
"""No count, seed or epoch is larger; what is only looks like one."""

MAX_SHOWN = 80
"""Characters of a foreign value that an error shows."""


class Accepted(NamedTuple):
    """What a field of a state may hold."""

    what: str
    fits: Callable[[object], bool]


def is_count(value: object) -> bool:
    """Whether this is an integer from 0 to 2^64 - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT


COUNT = Accepted("an integer from 0 to 2^64 - 1", is_count)
POSITIVE = Accepted("an integer from 1 to 2^64 - 1", lambda value: is_count(value) and value != 0)
TEXT = Accepted("a string", lambda value: isinstance(value, str))
FLAG = Accepted("True or False", lambda value: isinstance(value, bool))


def write_values(kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a state under a heading that `read_values` checks."""
    return {"format": FORMAT, "kind": kind, **values}


def read_values(kind: Kind, state: Mapping[str, Any], fields: Mapping[str, Accepted]) -> dict[str, Any]:
    """The values that `write_values` wrote.

    Args:
        kind: The kind of state that is wanted.
        state: What was loaded.
        fields: What each field may hold.

    Raises:
        OrderError: A newer format, another kind, or a field that is missing, unknown or holds what it cannot.
    """
    if not isinstance(state, Mapping):
        raise OrderError("This is not the state of a loader", got=shown(state), accepted="what state_dict() gave")
    _check_heading(kind, state)
    values = {name: value for name, value in state.items() if name not in ("format", "kind")}
    if set(values) != set(fields):
        missing, unknown = sorted(set(fields) - set(values)), sorted(set(values) - set(fields), key=str)
        raise OrderError(
            "This is not the state of a loader",
            got=f"missing {shown(missing)}, unknown {shown(unknown)}",
            accepted="what state_dict() gave",
        )
    for name, value in values.items():
        if not fields[name].fits(value):
            raise damaged(f"{name} holds what it cannot", got=f"{name}={shown(value)}", accepted=fields[name].what)
    return values


def damaged(what: str, *, got: str, accepted: str) -> OrderError:
    """The error of a state that no loader has written so."""
    return OrderError(
        f"The state is damaged: {what}", got=got, accepted=accepted, remedy="Load a state as state_dict() gave it"
    )


def check_same(name: str, saved: object, current: object, remedy: str) -> None:
    """A field that must not change.

    Raises:
        OrderError: It has; the field and both values are named.
    """
    if saved != current:
        raise OrderError(
            f"The state does not fit this loader: {name} differs",
            got=f"{name}={shown(saved)} in the state, {shown(current)} here",
            accepted=f"{name}={shown(current)}",
            remedy=remedy,
        )


def shown(value: object) -> str:
    """A foreign value as an error shows it: cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list a thousand levels deep
        return f"a value of type {type(value).__name__} that is too long to show"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def _check_heading(kind: Kind, state: Mapping[str, Any]) -> None:
    number = state.get("format")
    if not is_count(number) or number != FORMAT:
        newer = is_count(number) and isinstance(number, int) and number > FORMAT
        raise OrderError(
            "The state has a newer format" if newer else "This is not the state of a loader",
            got=f"format={shown(number)}",
            accepted=f"format={FORMAT}",
            remedy="Load it with the version of headrace that saved it, or a later one"
            if newer
            else "Pass what state_dict() gave, not what it was saved in",
        )
    saved = state.get("kind")
    if saved != kind:
        made = MADE_WITH.get(saved) if isinstance(saved, str) else None
        raise OrderError(
            "The state does not fit this loader: kind differs",
            got=f"kind={shown(saved)} in the state, {kind!r} here",
            accepted=f"kind={kind!r}",
            remedy=f"Make the loader with {made}, as the one that saved it" if made else None,
        )
