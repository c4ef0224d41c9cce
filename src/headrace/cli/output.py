"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from headrace.errors import printable

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object, for machines.")]


def show(result: RenderableType, facts: Any, *, as_json: bool) -> None:
    """Prints a result: as text for people, or its facts as JSON."""
    if as_json:
        typer.echo(json.dumps(plain(facts)))
    elif isinstance(result, str):
        Console(highlight=False, soft_wrap=True, markup=False, emoji=False).print(printable(result))
    else:
        Console(markup=False, emoji=False, highlight=False, soft_wrap=True).print(result)


def plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def note(text: str) -> None:
    """Something that the user should know, on standard error."""
    typer.secho("Note: ", fg="yellow", bold=True, err=True, nl=False)
    typer.echo(printable(text), err=True)


@contextmanager
def progress(*columns: str) -> Iterator[Progress]:
    """A progress display on standard error; silent where that is no terminal."""
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *(TextColumn(column) for column in columns),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as display:
        yield display
