"""Errors of a command as people and machines see them."""

from __future__ import annotations

import json
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from headrace.cli.guard import guarded
from headrace.errors import DiskFullError, SourceError


def run(command, *arguments):
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(guarded(command))
    return CliRunner().invoke(app, list(arguments))


def raiser(error):
    def command(*, as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
        """Fails."""
        raise error

    return command


def test_an_error_is_one_line_on_standard_error():
    result = run(raiser(SourceError("no images", path="/x", remedy="Look elsewhere.")))
    assert result.exit_code == 3
    assert result.stderr == "Error: no images [path=/x]. Look elsewhere.\n"
    assert result.stdout == ""


def test_machines_get_the_error_as_json():
    result = run(raiser(DiskFullError("no space", path="/x", retryable=True)), "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout) == {
        "error": {"type": "DiskFullError", "message": "no space [path=/x]", "where": {"path": "/x"}, "retryable": True},
        "exit_code": 4,
    }


def test_the_traceback_is_shown_to_those_who_ask_for_it():
    assert "Traceback" not in run(raiser(SourceError("x"))).stderr
    assert "Traceback" in run(raiser(SourceError("x")), "--debug").stderr


def test_an_unforeseen_error_says_that_it_is_ours():
    result = run(raiser(ZeroDivisionError("oops")))
    assert result.exit_code == 70
    assert "ZeroDivisionError: oops" in result.stderr
    assert "--debug" in result.stderr


def test_ctrl_c_ends_cleanly():
    result = run(raiser(KeyboardInterrupt()))
    assert result.exit_code == 130
    assert result.stderr == "Error: interrupted\n"


@pytest.mark.parametrize("code", [0, 1])
def test_an_exit_code_of_the_command_itself_is_kept(code):
    assert run(raiser(typer.Exit(code))).exit_code == code


def test_a_file_that_the_system_refuses_is_no_fault_of_headrace():
    result = run(raiser(PermissionError(13, "Permission denied", "photos")))
    assert result.exit_code == 4
    assert "[path=photos]" in result.stderr
    assert "Permission denied" in result.stderr
    assert run(raiser(OSError("from nowhere"))).exit_code == 70
