"""Reading a state back from what a checkpoint kept: nothing of it is believed before it is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from headrace.errors import OrderError

FORMAT = 1

Kind: TypeAlias = Literal["order", "sampler"]

MADE_WITH: Mapping[str, str] = {"order": "shuffle= and seed=", "sampler": "sampler= or batch_sampler="}
"""How the loaders are made that save each kind of state."""


def write_values(kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a state under a heading that `read_values` checks."""
    return {"format": FORMAT, "kind": kind, **values}


def read_values(kind: Kind, state: Mapping[str, Any], fits: Mapping[str, Callable[[Any], bool]]) -> dict[str, Any]:
    """The values that `write_values` wrote.

    Args:
        kind: The kind of state that is wanted.
        state: What was loaded.
        fits: For each field whether a value has the right type.

    Raises:
        OrderError: A newer format, another kind, or a field that is missing, unknown or of the wrong type.
    """
    if not isinstance(state, Mapping):
        raise OrderError("This is not the state of a loader", got=repr(state)[:80], accepted="what state_dict() gave")
    _check_heading(kind, state)
    values = {name: value for name, value in state.items() if name not in ("format", "kind")}
    if set(values) != set(fits):
        raise OrderError(
            "This is not the state of a loader",
            got=f"missing {sorted(set(fits) - set(values))}, unknown {sorted(set(values) - set(fits), key=str)}",
            accepted="what state_dict() gave",
        )
    for name, value in values.items():
        if not fits[name](value):
            raise OrderError(f"The state is damaged: {name} has the wrong type", got=repr(value)[:80])
    return values


def check_same(name: str, saved: object, current: object, remedy: str) -> None:
    """A field that must not change.

    Raises:
        OrderError: It has; the field and both values are named.
    """
    if saved != current:
        raise OrderError(
            f"The state does not fit this loader: {name} differs",
            got=f"{name}={saved!r} in the state, {current!r} here",
            accepted=f"{name}={current!r}",
            remedy=remedy.format(saved=saved),
        )


def is_count(value: object) -> bool:
    """Whether this is an integer of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_text(value: object) -> bool:
    """Whether this is a string."""
    return isinstance(value, str)


def _check_heading(kind: Kind, state: Mapping[str, Any]) -> None:
    number = state.get("format")
    if number != FORMAT or isinstance(number, bool):
        newer = is_count(number) and isinstance(number, int) and number > FORMAT
        raise OrderError(
            "The state has a newer format" if newer else "This is not the state of a loader",
            got=f"format={number!r}",
            accepted=f"format={FORMAT}",
            remedy="Load it with the version of headrace that saved it, or a later one" if newer else None,
        )
    saved = state.get("kind")
    if saved != kind:
        made = MADE_WITH.get(saved) if isinstance(saved, str) else None
        raise OrderError(
            "The state does not fit this loader: kind differs",
            got=f"kind={saved!r} in the state, {kind!r} here",
            accepted=f"kind={kind!r}",
            remedy=f"Make the loader with {made}, as the one that saved it" if made else None,
        )
