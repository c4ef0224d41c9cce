"""The shape of `fields` is the shape of a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headrace.datasets.field import Field, FieldKind, check_codecs, field
from headrace.errors import OptionError

Shape: TypeAlias = Literal["bare", "tuple", "dict"]
FieldsArgument: TypeAlias = str | Field | Sequence[str | Field] | Mapping[str, str | Field] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One leaf of a sample."""

    name: str
    """Name of the leaf, which no other has: the key in a dict sample, otherwise the extensions as they were asked for,
    with the path where there is one (`json:objects[].bbox`), and a number from the second of that name on (`jpg#2`)."""
    field: Field
    """What it holds and how it is read."""
    asked: tuple[str, ...] = ()
    """What it was asked for by, where that is not its extensions: a column of a list."""

    @property
    def origin(self) -> tuple[str, ...]:
        """Where it comes from: leaves of one origin read the same bytes."""
        return self.asked or self.extensions

    @property
    def extensions(self) -> tuple[str, ...]:
        """Extensions that are accepted, in order of preference."""
        return self.field.extensions

    @property
    def kind(self) -> FieldKind:
        """What the leaf is to a transform."""
        return self.field.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleShape:
    """The leaves of a sample and how they are put together."""

    shape: Shape
    entries: tuple[Entry, ...]

    def build(self, values: Sequence[Any]) -> Any:
        """A sample (or a batch) from the values of its leaves."""
        if self.shape == "bare":
            return values[0]
        if self.shape == "tuple":
            return tuple(values)
        return {entry.name: value for entry, value in zip(self.entries, values, strict=True)}

    def leaves(self, sample: Any) -> list[Any] | None:
        """The values of the leaves of a sample, or None where it is not of this shape (a transform changed it)."""
        if self.shape == "bare":
            return [sample]
        if self.shape == "tuple":
            fits = isinstance(sample, (tuple, list)) and len(sample) == len(self.entries)
            return list(sample) if fits else None
        names = [entry.name for entry in self.entries]
        fits = isinstance(sample, Mapping) and set(sample) == set(names)
        return [sample[name] for name in names] if fits else None


def parse_fields(fields: FieldsArgument, known: Sequence[str]) -> SampleShape:
    """Reads the `fields` argument of a dataset.

    Args:
        fields: An extension (alternatives by `;`) or a `headrace.field(...)`, a sequence or a mapping of those, or None
            for all of `known`.
        known: The fields that the shards hold.

    Raises:
        OptionError: An entry that is empty, of another type, or that no shard holds.
    """
    if fields is None:
        entries = tuple(Entry(name=name, field=field(name)) for name in known)
        return SampleShape(shape="dict", entries=entries)
    if isinstance(fields, str | Field):
        return _checked(SampleShape(shape="bare", entries=_entries([fields])), known)
    if isinstance(fields, Mapping):
        entries = tuple(_entry(name, one) for name, one in fields.items())
        return _checked(SampleShape(shape="dict", entries=entries), known)
    if isinstance(fields, Sequence):
        return _checked(SampleShape(shape="tuple", entries=_entries(fields)), known)
    raise OptionError(
        "fields has a wrong type",
        got=type(fields).__name__,
        accepted="an extension, a tuple or a dict of extensions, or None for all fields",
    )


def _entry(name: object, one: object) -> Entry:
    if not isinstance(name, str):
        raise OptionError("a field of a dict has a name", got=repr(name), accepted="a string")
    return Entry(name=name, field=one if isinstance(one, Field) else field(one))  # type: ignore[arg-type]


def _entries(fields: Sequence[Any]) -> tuple[Entry, ...]:
    """Entries that are named by what was asked for; the second of one name becomes `name#2`."""
    entries: list[Entry] = []
    uses: Counter[str] = Counter()
    for one in fields:
        name = one if isinstance(one, str) else one.asked if isinstance(one, Field) else ""
        uses[name] += 1
        entries.append(_entry(name if uses[name] == 1 else f"{name}#{uses[name]}", one))
    return tuple(entries)


def _checked(shape: SampleShape, known: Sequence[str]) -> SampleShape:
    if not shape.entries:
        raise OptionError("a sample has no fields", got="fields with no entry", accepted="at least one extension")
    for entry in shape.entries:
        if known and not set(entry.extensions) & set(known):
            raise OptionError(
                f"no shard holds the field {';'.join(entry.extensions)!r}",
                accepted=f"fields of these shards: {', '.join(known)}",
                remedy="`headrace info SHARDS` lists them",
            )
        if known:
            check_codecs(entry.extensions, entry.kind, entry.field.get)
    return shape
