"""Runs a piece of Python in a process of its own, under limits that are set before it begins."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace._base.cgroups import ControlGroups

ROOT = Path(__file__).parents[3]
TIMEOUT_S = 240


def run_limited(
    script: str,
    *arguments: object,
    open_files: tuple[int, int] | None = None,
    prefix: tuple[str, ...] = (),
    group: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """The finished process; its output is text.

    Args:
        script: Python code; finds `arguments` in `sys.argv[1:]`.
        arguments: Made into text.
        open_files: Soft and hard limit of open files.
        prefix: A command that starts the rest of its arguments, such as `unshare`.
        group: The folder of a control group that the process is put into.
    """

    def limit() -> None:
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    return subprocess.run(
        [*prefix, sys.executable, "-c", script, *map(str, arguments)],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )


@contextlib.contextmanager
def memory_group(limit_bytes: int) -> Iterator[Path]:
    """A control group of memory below the one of this process; skips the test where none can be made."""
    groups = ControlGroups.of_this_process().memory
    if not groups:
        pytest.skip("this system has no control groups of memory")
    parent, name = groups[0], f"headrace-test-{os.getpid()}-{time.monotonic_ns()}"
    folder = parent.path / name
    try:
        if parent.version == 2 and "memory" not in (parent.path / "cgroup.subtree_control").read_text().split():
            (parent.path / "cgroup.subtree_control").write_text("+memory")
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of memory can be made here: {error}")
    try:
        limit = folder / ("memory.max" if parent.version == 2 else "memory.limit_in_bytes")
        if not limit.exists():
            pytest.skip("the controller of memory is not at work here")
        limit.write_text(str(limit_bytes))
        yield folder
    finally:
        wait_until_empty(folder)
        folder.rmdir()


def wait_until_empty(folder: Path) -> None:
    """Waits for the last process of a group to be gone."""
    until_s = time.monotonic() + 20
    while (folder / "cgroup.procs").read_text().split() and time.monotonic() < until_s:
        time.sleep(0.05)


def num_killed(folder: Path) -> int:
    """How many processes of a group the system has killed for want of memory."""
    for name in ("memory.events", "memory.oom_control"):
        if (folder / name).exists():
            words = dict(line.split() for line in (folder / name).read_text().splitlines())
            return int(words["oom_kill"])
    raise AssertionError("the group does not tell")


def output_of(finished: subprocess.CompletedProcess[str]) -> str:
    """What a process that has succeeded has written to its standard output."""
    assert finished.returncode == 0, finished.stderr[-4000:]
    return finished.stdout
