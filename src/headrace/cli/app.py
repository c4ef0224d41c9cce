"""The commands and their one-line summaries; the module of a command is loaded when it is called."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headrace import __version__
from headrace.cli.exit_codes import ExitCode
from headrace.cli.guard import as_dict, guarded

EPILOG = "Every command has a --help with examples. Exit codes: 0 ok, 1 faults found, 2 usage, 3 bad input, 4 storage."


USAGE_ERROR: Any = typer.BadParameter.__base__
"""click's `UsageError`, of whichever click this typer brings along."""
WANTS_JSON = "headrace.wants_json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where a command is and what it does."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "try": Entry(
        module="headrace.cli.try_speed", function="try_speed", summary="Your images: a stock loader beside ours."
    ),
    "pack": Entry(module="headrace.cli.pack", function="pack", summary="Packs images, lists or shards into shards."),
    "index": Entry(module="headrace.cli.index", function="index", summary="Writes the indices of shards."),
    "verify": Entry(
        module="headrace.cli.verify", function="verify", summary="Checks shards from the first byte to the last."
    ),
    "info": Entry(module="headrace.cli.info", function="info", summary="Shows what is in shards."),
    "bench": Entry(module="headrace.cli.bench", function="bench", summary="Measures the loader, stage by stage."),
    "demo": Entry(
        module="headrace.cli.demo.command", function="demo", summary="Trains on two ranks, a stock loader beside ours."
    ),
}


class LazyGroup(TyperGroup):
    """Lists the commands from the table and loads one when it is called.

    Arguments that cannot be read end it before a command is there that could tell: with `--json` among them, the error
    is a JSON object on standard output, as all others are.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=entry.summary) for name, entry in COMMANDS.items()}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Notes whether a machine reads the result."""
        ctx.meta[WANTS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that is called."""
        try:
            return super().invoke(ctx)
        except USAGE_ERROR as error:
            if ctx.meta[WANTS_JSON]:
                found = {"error": as_dict(error, error.format_message()), "exit_code": int(ExitCode.USAGE)}
                typer.echo(json.dumps(found))
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the table, which is the order of first use."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is called, loaded now."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else command, rest


def load(name: str) -> Any:
    """The command of this name with all its options."""
    entry = COMMANDS[name]
    module = import_module(entry.module)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    epilog = "\n\n".join(["Examples:", *module.EXAMPLES])
    function = getattr(module, entry.function)
    app.command(name, help=reflowed(inspect.getdoc(function) or entry.summary), epilog=epilog)(guarded(function))
    return typer.main.get_command(app)


def reflowed(text: str) -> str:
    """A docstring with each paragraph on one line: the terminal has its own width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def show_version(value: bool) -> None:
    """Prints the version and ends."""
    if value:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True, rich_markup_mode="rich"
)


@app.callback(epilog=EPILOG)
def headrace(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Images and their labels from storage to your training loop, without it ever waiting."""


def run() -> None:
    """Runs the command line with the arguments of this process."""
    app(sys.argv[1:], prog_name="headrace")
