"""All loaders side by side on the same photographs, one process each, in interleaved rounds.

Each loader that has settings is tried with each of them for a short while and measured with the best. A round
measures every loader once, starting with another one each time; what counts is the median over the rounds of the
ratio of two loaders in one round, since a machine's mood changes between rounds more than within one.

Usage: `python -m benchmarks.run [--works crop center augment] [--loaders NAME ...] [--rounds 5] [--quick]`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import data, peers, results
from benchmarks.loaders import NAMES, OURS
from benchmarks.works import WORKS

COMPARED = {
    "crop": NAMES,
    "center": ("headrace_shards", "torch_pillow", "torch_io"),
    "augment": ("headrace_shards", "torch_pillow", "torch_io"),
}
"""Loaders of each work; the first compares all, the others those that their promise names."""

NUM_IMAGES, NUM_TRIAL_IMAGES = 20_000, 2_000
QUICK_IMAGES, QUICK_TRIAL_IMAGES = 2_000, 640
RUN_TIMEOUT_S = 300


class LoaderFailedError(Exception):
    """A loader's process ended without figures."""


class Bench:
    """Runs loaders in processes of their own.

    Args:
        photographs: The folder tree.
        home: Where each loader keeps its own format.
    """

    def __init__(self, photographs: Path, home: Path) -> None:
        self._photographs, self._home = photographs, home
        self._python = peers.python()

    def prepare(self, loader: str) -> None:
        """Lets a loader write its own format, once."""
        done = self._home / f"{loader}.ready"
        if not done.exists():
            shutil.rmtree(self._home / loader, ignore_errors=True)
            self._run(loader, "crop", "--prepare")
            done.touch()

    def settings(self, loader: str) -> list[str]:
        """Settings that a loader can be tried with."""
        code = f"import benchmarks.loaders.{loader} as it; print(*it.SETTINGS, sep='\\n')"
        out = subprocess.run(
            [self._python, "-c", code],
            cwd=data.ROOT,
            env=data.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if out.returncode:
            raise LoaderFailedError((out.stderr.strip().splitlines() or ["no message"])[-1])
        return out.stdout.splitlines()

    def measure(self, loader: str, work: str, setting: str, num_images: int) -> dict[str, Any]:
        """Figures of one run."""
        out = self._run(loader, work, "--setting", setting, "--images", str(num_images))
        figures: dict[str, Any] = json.loads(out.splitlines()[-1])
        return figures

    def _run(self, loader: str, work: str, *arguments: str) -> str:
        """One process, which takes whatever it started with it when it goes."""
        command = [self._python, "-m", "benchmarks.measure", loader, work, *arguments]
        command += ["--photographs", str(self._photographs), "--folder", str(self._home / loader)]
        process = subprocess.Popen(
            command,
            cwd=data.ROOT,
            env=data.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=RUN_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise LoaderFailedError(f"no end after {RUN_TIMEOUT_S} s") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            print(err, file=sys.stderr)
            raise LoaderFailedError((err.strip().splitlines() or ["no message"])[-1])
        return out


def choose(bench: Bench, loader: str, work: str, num_images: int) -> str:
    """The setting of a loader that is fastest in a short trial."""
    bench.prepare(loader)
    settings = bench.settings(loader)
    if len(settings) == 1:
        return settings[0]
    rates = {setting: bench.measure(loader, work, setting, num_images)["images_per_s"] for setting in settings}
    return max(rates, key=lambda setting: rates[setting])


def choose_all(bench: Bench, loaders: list[str], work: str, num_images: int) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of the loaders that run here, and why the others do not."""
    chosen, failed = {}, {}
    for loader in loaders:
        try:
            chosen[loader] = choose(bench, loader, work, num_images)
        except LoaderFailedError as error:
            failed[loader] = str(error)
        print(f"  {work}: {loader}: {chosen.get(loader) or 'fails: ' + failed[loader]}", flush=True)
    return chosen, failed


def compare(bench: Bench, work: str, loaders: list[str], num_rounds: int, *, quick: bool) -> dict[str, Any]:
    """Figures of all loaders in all rounds."""
    num_images, num_trial = (QUICK_IMAGES, QUICK_TRIAL_IMAGES) if quick else (NUM_IMAGES, NUM_TRIAL_IMAGES)
    chosen, failed = choose_all(bench, loaders, work, num_trial)
    rounds: list[dict[str, dict[str, Any]]] = []
    for number in range(num_rounds):
        names = list(chosen)
        shift = number % max(1, len(names))
        rounds.append({})
        for name in names[shift:] + names[:shift]:
            try:
                rounds[-1][name] = figures = bench.measure(name, work, chosen[name], num_images)
            except LoaderFailedError as error:
                failed[name] = str(error)
                del chosen[name]
                print(f"  {work}: round {number + 1}: {name}: fails: {error}", flush=True)
                continue
            print(f"  {work}: round {number + 1}: {name}: {figures['images_per_s']:.0f} images/s", flush=True)
    rounds = [{name: one[name] for name in chosen} for one in rounds]
    return {
        "work": WORKS[work].title,
        "images_a_run": num_images,
        "failed": failed,
        "loaders": {name: summary(chosen[name], [one[name] for one in rounds]) for name in chosen},
        "ratios": {ours: ratios(ours, rounds) for ours in OURS if ours in chosen},
    }


def summary(setting: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds, and every round's rate."""
    medians = {name: statistics.median(run[name] for run in runs) for name in ("first_batch_s", "cpu_ms_per_image")}
    rates = [run["images_per_s"] for run in runs]
    return {"setting": setting, "images_per_s": statistics.median(rates), "images_per_s_rounds": rates, **medians}


def ratios(ours: str, rounds: list[dict[str, dict[str, Any]]]) -> dict[str, float]:
    """How many times faster we are than each peer: medians of the ratios in one round."""
    return {
        peer: statistics.median(one[ours]["images_per_s"] / one[peer]["images_per_s"] for one in rounds)
        for peer in rounds[0]
        if peer not in OURS
    }


def main() -> int:
    """Command line. The exit code is the number of loaders of ours that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    parser.add_argument("--works", nargs="+", choices=list(WORKS), default=list(WORKS))
    parser.add_argument("--loaders", nargs="+", choices=NAMES, default=None)
    parser.add_argument("--rounds", type=int, default=None, help="5, or 2 with --quick")
    args = parser.parse_args()
    num_rounds = args.rounds or (2 if args.quick else 5)
    args.home.mkdir(parents=True, exist_ok=True)
    bench = Bench(data.photographs(args), args.home)
    num_failed = 0
    for work in args.works:
        figures = compare(bench, work, list(args.loaders or COMPARED[work]), num_rounds, quick=args.quick)
        results.save(f"loaders_{work}", figures, quick=args.quick)
        num_failed += sum(name in figures["failed"] for name in OURS)
    return num_failed


if __name__ == "__main__":
    sys.exit(main())
