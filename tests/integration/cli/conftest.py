"""The command line as a user runs it, and in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli.app import app

SOURCE = Path(__file__).parents[3] / "src"
PLAIN = {"NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb", "PYTHONPATH": str(SOURCE)}


def run_here(*arguments: object) -> Any:
    return CliRunner(env=PLAIN).invoke(app, [str(argument) for argument in arguments])


def run_apart(*arguments: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headrace", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **PLAIN}, capture_output=True, text=True, check=False, timeout=100, **settings
    )


@pytest.fixture
def headrace() -> Callable[..., Any]:
    """Runs a command in this process."""
    return run_here


@pytest.fixture
def headrace_process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command in a process of its own."""
    return run_apart


@pytest.fixture(scope="session")
def packed(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photographs in three shards. Read-only by agreement."""
    folder = tmp_path_factory.mktemp("packed") / "train"
    assert run_here("pack", photographs, folder, "--samples-per-shard", 20).exit_code == 0
    return folder
