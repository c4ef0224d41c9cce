"""Runs a command such that errors are read by people and machines, and tracebacks only by those who ask for them."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

from headrace._base.os_errors import from_os_error
from headrace.cli.exit_codes import ExitCode, exit_code
from headrace.errors import HeadraceError, printable

DEBUG = inspect.Parameter(
    "debug",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option `--debug`, its errors turned into text and exit codes.

    Where the command has an argument `as_json` and it is set, an error is a JSON object on standard output too.
    """

    @functools.wraps(command)
    def run(*args: Any, debug: bool, **kwargs: Any) -> None:
        as_json = bool(kwargs.get("as_json"))
        try:
            command(*args, **kwargs)
        except HeadraceError as error:
            tell(error, exit_code(error), str(error), debug=debug, as_json=as_json)
        except KeyboardInterrupt as error:
            tell(error, ExitCode.INTERRUPTED, "interrupted", debug=debug, as_json=as_json)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except OSError as error:
            if error.errno is None or error.filename is None:
                unforeseen(error, debug=debug, as_json=as_json)
            found = from_os_error(error, "a file or folder cannot be read or written", error.filename)
            tell(found, exit_code(found), str(found), debug=debug, as_json=as_json)
        except Exception as error:  # noqa: BLE001 - the last place where an error can be given a readable end
            unforeseen(error, debug=debug, as_json=as_json)

    signature = inspect.signature(command, eval_str=True)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), DEBUG])  # type: ignore[attr-defined]
    run.__annotations__ = {**get_type_hints(command, include_extras=True), "debug": DEBUG.annotation}
    return run


def unforeseen(error: Exception, *, debug: bool, as_json: bool) -> NoReturn:
    """Shows an error that nobody has thought of, and ends the command."""
    text = f"{type(error).__name__}: {error}. This is a fault of headrace itself: --debug shows where."
    tell(error, ExitCode.INTERNAL, text, debug=debug, as_json=as_json)


def tell(error: BaseException, code: ExitCode, text: str, *, debug: bool, as_json: bool) -> NoReturn:
    """Shows an error and ends the command.

    Raises:
        typer.Exit: Always.
    """
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    typer.secho("Error: ", fg="red", bold=True, err=True, nl=False)
    typer.echo(printable(text), err=True)
    if as_json:
        typer.echo(json.dumps({"error": as_dict(error, text), "exit_code": int(code)}, default=str))
    raise typer.Exit(int(code))


def as_dict(error: BaseException, text: str) -> dict[str, Any]:
    """An error for machines."""
    found: dict[str, Any] = {"type": type(error).__name__, "message": text}
    if isinstance(error, HeadraceError):
        found |= {"where": error.where, "retryable": error.retryable}
    return found
