"""Figures as JSON under `benchmarks/results`, with the machine and the versions that they belong to."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
QUICK_FOLDER = FOLDER.parent.parent / "data" / "benchmarks" / "results"
PACKAGES = ("torch", "torchvision", "numpy", "pillow")


def machine() -> dict[str, Any]:
    """Processor, cores, system and versions."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **versions(PACKAGES),
    }


def processor() -> str:
    """Name of the processor, as far as the system tells it."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of the packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def save(name: str, figures: Mapping[str, Any], *, quick: bool) -> None:
    """Writes `results/NAME.json` and prints the figures. Figures of quick runs are kept apart, under `data`."""
    folder = QUICK_FOLDER if quick else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": machine(), "figures": rounded(figures)}, indent=1, sort_keys=True)
    (folder / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {json.dumps(rounded(figures))}", flush=True)


def load(name: str) -> dict[str, Any] | None:
    """The figures of `results/NAME.json`, None if they were never measured."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def rounded(value: Any) -> Any:
    """Floats to five significant digits, however deep."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value
