"""Runs one training of the demo with torchrun and watches it from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from headrace.cli.demo.memory import family_memory_bytes
from headrace.cli.demo.plan import NUM_RANKS, RankResult, RunPlan, RunResult
from headrace.errors import WorkerError

LOOK_EVERY_S = 0.5
END_WITHIN_S = 10.0
LOG_LINES_SHOWN = 30


def launch(plan: RunPlan, on_steps: Callable[[int], None]) -> RunResult:
    """Runs a training on two ranks until it ends.

    Args:
        plan: What to run.
        on_steps: Called now and then with the number of steps done so far.

    Raises:
        WorkerError: The training failed; the message holds the end of what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as name:
        folder = Path(name)
        plan.write(folder / "plan.json")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own module
                command(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(plan)
            )
            try:
                peak_memory_bytes = watch(process, folder, on_steps)
            finally:
                end(process)
        if process.returncode != 0:
            raise failure(process.returncode, folder)
        ranks = tuple(RankResult.read(folder / f"rank{rank}.json") for rank in range(NUM_RANKS))
    return RunResult(plan=plan, ranks=ranks, peak_memory_bytes=peak_memory_bytes)


def command(folder: Path) -> list[str]:
    """The command line of torchrun."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={NUM_RANKS}"]
    return [*torchrun, "-m", "headrace.cli.demo.training", str(folder / "plan.json"), str(folder)]


def environment(plan: RunPlan) -> dict[str, str]:
    """The environment of a run: equal thread counts for all arithmetic, and gloo on this machine's own interface."""
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    return os.environ | {
        "OMP_NUM_THREADS": str(plan.num_threads),
        "MKL_NUM_THREADS": str(plan.num_threads),
        "GLOO_SOCKET_IFNAME": loopback,
    }


def watch(process: subprocess.Popen[bytes], folder: Path, on_steps: Callable[[int], None]) -> int:
    """Waits for the end of a run, reports its steps and returns its peak memory in bytes."""
    peak = 0
    while True:
        try:
            process.wait(LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            peak = max(peak, family_memory_bytes(process.pid))
            on_steps(steps_done(folder))
        else:
            on_steps(steps_done(folder))
            return peak


def steps_done(folder: Path) -> int:
    """Steps that the first rank has done: one byte each."""
    path = folder / "steps0"
    return path.stat().st_size if path.exists() else 0


def end(process: subprocess.Popen[bytes]) -> None:
    """Sees to it that torchrun and its ranks are gone; asks first."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def failure(code: int, folder: Path) -> WorkerError:
    """The error for a run that failed: what its ranks raised, or else the end of what torchrun printed."""
    told = [path.read_text() for path in sorted(folder.glob("error*"))]
    lines = (told[0] if told else (folder / "log").read_text(errors="replace")).splitlines()[-LOG_LINES_SHOWN:]
    said = "\n".join(["It said last:", *lines]) if lines else None
    return WorkerError("a training process of the demo failed", got=f"exit status {code}", remedy=said)
