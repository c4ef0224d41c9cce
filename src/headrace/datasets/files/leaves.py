"""From the fields that are asked for to the columns that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from headrace.contracts import I32
from headrace.datasets.field import Field, FieldKind, check_codecs, field, kind_of_extensions
from headrace.datasets.fields import Entry, FieldsArgument, SampleShape, parse_fields
from headrace.datasets.files.columns import ColumnFacts, TableFacts
from headrace.errors import OptionError

LABEL_NAMES = frozenset({"cls", "label"})
"""What the column of class numbers is called beside its own name: shards have it in `cls`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A column of files, some of whose suffixes a leaf takes."""

    column: ColumnFacts
    choices: I32
    """Which extension of the leaf a suffix is, by suffix id, shape (suffixes + 1,); -1 where the leaf has it not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLeaf:
    """A leaf that comes from files: the first of its parts that a row has."""

    name: str
    parts: tuple[FilePart, ...]
    num_choices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLeafFacts:
    """A leaf that comes from a column of values."""

    name: str
    column: ColumnFacts
    names: tuple[str, ...] | None = None
    """Names that stand for the numbers of the column, where the caller has numbers of his own for them."""


Leaf: TypeAlias = FileLeaf | ValueLeafFacts


def leaves_of(fields: FieldsArgument, facts: TableFacts) -> tuple[SampleShape, tuple[Leaf, ...]]:
    """The shape of a sample, its entries with the extensions that there are, and where each leaf comes from.

    Args:
        fields: As a dataset takes it. An entry is a column, `label` or `cls` for the class numbers, or extensions of
            files (`jpg;png`).
        facts: The table.

    Raises:
        OptionError: An entry that no column and no file has.
    """
    asked = parse_fields(by_column(fields, facts), ())
    found = [resolve(entry, facts) for entry in asked.entries]
    shape = SampleShape(shape=asked.shape, entries=tuple(entry for entry, _ in found))
    return shape, tuple(leaf for _, leaf in found)


def by_column(fields: FieldsArgument, facts: TableFacts) -> FieldsArgument:
    """The fields with names of columns of values in the place of what would be extensions: `id` need be no number."""

    def one(asked: Any) -> Any:
        column = facts.column(asked) if isinstance(asked, str) else None
        plain = column is not None and column.role == "values" and column.name != facts.label
        return as_field(asked) if plain else asked

    if fields is None:
        return {name: one(name) for name in facts.names}
    if isinstance(fields, Mapping):
        return {name: one(asked) for name, asked in fields.items()}
    if isinstance(fields, Sequence) and not isinstance(fields, str):
        return tuple(map(one, fields))
    return one(fields)  # type: ignore[no-any-return]


def as_field(column: str) -> Field:
    """A column as an entry: its name may hold what would part alternatives."""
    return replace(field("bin"), extensions=(column.lower(),))


def resolve(entry: Entry, facts: TableFacts) -> tuple[Entry, Leaf]:
    """One entry."""
    parts, extensions, kinds = [], list[str](), list[str]()
    for asked in entry.extensions:
        column = facts.column(asked)
        if column is None and asked in LABEL_NAMES and facts.label is not None:
            column = facts.column(facts.label)
        if column is not None and column.role == "values":
            if len(entry.extensions) > 1:
                raise mixed(entry, facts)
            names = facts.classes if column.name == facts.label and has_own_numbers(entry) else None
            return value_entry(entry, column, facts), ValueLeafFacts(name=entry.name, column=column, names=names)
        columns = [column] if column is not None else [one for one in facts.columns if one.role == "files"]
        for one in columns:
            taken = [end for end in one.extensions if column is not None or end == asked]
            if taken:
                extensions.extend(end for end in dict.fromkeys(taken) if end not in extensions)
                kinds.extend(f"{one.name}.{end}" if column is not None else end for end in taken)
                parts.append((one, frozenset(taken)))
    if not parts:
        raise unknown(entry, facts)
    leaf = FileLeaf(
        name=entry.name,
        parts=tuple(file_part(column, taken, extensions) for column, taken in parts),
        num_choices=len(extensions),
    )
    check_codecs(tuple(extensions), kind(entry, kinds), entry.field.get)
    held = replace(entry.field, extensions=tuple(extensions), kind=kind(entry, kinds))
    return replace(entry, field=held, asked=entry.extensions), leaf


def any_file(name: str, column: ColumnFacts) -> FileLeaf:
    """A leaf that takes every file of a column under its one extension."""
    choices = np.array([-1, *(0 for _ in column.suffixes)], dtype=np.int32)
    return FileLeaf(name=name, parts=(FilePart(column=column, choices=choices),), num_choices=1)


def file_part(column: ColumnFacts, taken: frozenset[str], extensions: Sequence[str]) -> FilePart:
    """Which of its files a leaf takes."""
    choices = [extensions.index(end) if end in taken else -1 for end in column.extensions]
    return FilePart(column=column, choices=np.array([-1, *choices], dtype=np.int32))


def kind(entry: Entry, names: Sequence[str]) -> FieldKind:
    """What a leaf is to a transform: what was said, or what its files are; a column `mask` of PNGs holds masks."""
    said = entry.field.kind != "value" or entry.field.get is not None
    return entry.field.kind if said else kind_of_extensions(name.lower() for name in names)


def has_own_numbers(entry: Entry) -> bool:
    """Whether a label field says itself which number a name has."""
    return entry.field.classes is not None and entry.field.classes != "auto"


def value_entry(entry: Entry, column: ColumnFacts, facts: TableFacts) -> Entry:
    """The entry of a column of values; class numbers are labels, whatever the column is called."""
    is_label = column.name == facts.label and entry.field.kind == "value" and entry.field.get is None
    return replace(entry, field=replace(entry.field, kind="label")) if is_label else entry


def mixed(entry: Entry, facts: TableFacts) -> OptionError:
    """The error of alternatives of which one is a column of values."""
    return OptionError(
        "alternatives are for files, and a column of values is among them",
        got=";".join(entry.extensions),
        accepted=", ".join(known(facts)),
    )


def unknown(entry: Entry, facts: TableFacts) -> OptionError:
    """The error of an entry that is not there."""
    return OptionError(
        f"the source has no field {';'.join(entry.extensions)!r}", accepted=f"what it has: {', '.join(known(facts))}"
    )


def known(facts: TableFacts) -> list[str]:
    """What can be asked for: columns, then extensions of files."""
    ends = (end for column in facts.columns for end in column.extensions)
    names = [*facts.names, *(["cls"] if facts.label is not None else []), *ends, *facts.left_out]
    return list(dict.fromkeys(name for name in names if name))
