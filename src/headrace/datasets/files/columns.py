"""What a table of files says of its own columns, in a form that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["files", "values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column."""

    name: str
    role: Role
    stems: str = ""
    """Of files: which stems their names begin with."""
    suffixes: tuple[str, ...] = ()
    """Of files: what their names end with; suffix 1 is the first, 0 means that a row has no file."""

    @property
    def extensions(self) -> tuple[str, ...]:
        """The suffixes as extensions: `.JPG` is `jpg`."""
        return tuple(suffix.lstrip(".").lower() for suffix in self.suffixes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """A whole table."""

    kind: str
    """What kind of source it was made of."""
    root: str
    """Absolute path of the folder that paths are relative to."""
    columns: tuple[ColumnFacts, ...]
    label: str | None = None
    """The column of class numbers."""
    classes: tuple[str, ...] | None = None
    """Names of the classes by number, where the source names them."""
    left_out: tuple[str, ...] = ()
    """Columns that the source has and nobody has asked for."""
    may_lack: bool = False
    """Whether nobody has seen the files yet, as with those of a list: some may not be there."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists and dicts."""
        return asdict(self)

    @classmethod
    def of_json(cls, facts: Mapping[str, Any]) -> TableFacts:
        """The inverse."""
        columns = tuple(ColumnFacts(**column | {"suffixes": tuple(column["suffixes"])}) for column in facts["columns"])
        classes = None if facts["classes"] is None else tuple(facts["classes"])
        return cls(**{**facts, "columns": columns, "classes": classes, "left_out": tuple(facts["left_out"])})

    def column(self, name: str) -> ColumnFacts | None:
        """The column of this name, whatever its case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    @property
    def names(self) -> Sequence[str]:
        """The columns, in their order."""
        return [column.name for column in self.columns]
