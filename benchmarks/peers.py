"""An environment for the peers: their packages beside, never instead of, those of the environment that runs this.

The peers ask for versions of numpy and others that exclude each other and ours, so that they are installed without
their dependencies; `peers.txt` lists those that they need for local files. Usage: `python -m benchmarks.peers`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

from benchmarks.data import HOME

LIST = Path(__file__).resolve().parent / "peers.txt"
MODULES = ("grain", "litdata", "streaming", "nvidia.dali", "webdataset", "array_record")


def python() -> str:
    """An interpreter that has the peers: this one if it has, else that of an environment made now."""
    if all(importlib.util.find_spec(name.partition(".")[0]) for name in MODULES):
        return sys.executable
    folder = HOME / "peers"
    interpreter = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists() or ready.read_text() != LIST.read_text():
        make(folder, interpreter)
        ready.write_text(LIST.read_text())
    return str(interpreter)


def make(folder: Path, interpreter: Path) -> None:
    """A virtual environment that sees the packages of this one, with the peers on top."""
    print("Installing the peers", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    site = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(site, "main.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([str(interpreter), "-m", "pip", "install", "-q", "--no-deps", "-r", str(LIST)], check=True)


if __name__ == "__main__":
    print(python())
