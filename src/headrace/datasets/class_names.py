"""The names of classes, and where a dataset has them from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from headrace.datasets.field import Classes
from headrace.datasets.fields import Entry, SampleShape
from headrace.errors import OptionError


def with_classes(shape: SampleShape, names: tuple[str, ...] | None) -> SampleShape:
    """The shape with the names of the dataset in the place of `classes="auto"`.

    Raises:
        OptionError: A field asks for them, and the dataset has none.
    """
    if all(entry.field.classes != "auto" for entry in shape.entries):
        return shape
    if names is None:
        asked = next(entry.field.asked for entry in shape.entries if entry.field.classes == "auto")
        raise OptionError(
            "classes='auto' finds no class names in the dataset",
            accepted="an index.json that holds them, a list of names, or a dict",
            remedy=f"Shards: `headrace index SHARDS --classes '{asked}'` finds and keeps them",
        )
    return replace(shape, entries=tuple(map(_named(names), shape.entries)))


def names_of_labels(shape: SampleShape, listed: Sequence[str] | None) -> Sequence[str] | None:
    """What the labels of a dataset are called: the classes of its label field, otherwise those of its index."""
    stated = {names for entry in shape.entries if (names := in_order(entry.field.classes)) is not None}
    return stated.pop() if len(stated) == 1 else listed


def in_order(classes: Classes) -> tuple[str, ...] | None:
    """The names in the order of their numbers, None where there are none, or not one for each number from 0."""
    if isinstance(classes, tuple):
        return classes
    if not isinstance(classes, Mapping):
        return None
    names = {number: name for name, number in classes.items() if isinstance(name, str)}
    whole = len(names) == len(classes) and set(names) == set(range(len(names)))
    return tuple(names[number] for number in range(len(names))) if whole else None


def _named(names: tuple[str, ...]) -> Callable[[Entry], Entry]:
    def named(entry: Entry) -> Entry:
        return replace(entry, field=replace(entry.field, classes=names)) if entry.field.classes == "auto" else entry

    return named
