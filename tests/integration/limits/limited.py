"""Runs a piece of Python in a process of its own, under limits that are set before it begins."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
TIMEOUT_S = 240


def run_limited(
    script: str, *arguments: object, open_files: tuple[int, int] | None = None, prefix: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """The finished process; its output is text.

    Args:
        script: Python code; finds `arguments` in `sys.argv[1:]`.
        arguments: Made into text.
        open_files: Soft and hard limit of open files.
        prefix: A command that starts the rest of its arguments, such as `unshare`.
    """

    def limit() -> None:
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, open_files)

    return subprocess.run(
        [*prefix, sys.executable, "-c", script, *map(str, arguments)],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )


def output_of(finished: subprocess.CompletedProcess[str]) -> str:
    """What a process that has succeeded has written to its standard output."""
    assert finished.returncode == 0, finished.stderr[-4000:]
    return finished.stdout
