"""Starts a script on several ranks, as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# Where the launcher shares its store with the ranks, gloo finds the addresses of dead ranks after a restart in place.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
SCRIPTS = Path(__file__).parent / "scripts"


def torchrun(
    script: str, num_ranks: int, *arguments: object, num_restarts: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs a script of this folder to its end, however that comes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={num_ranks}"]
    return subprocess.run(
        [*launcher, f"--max-restarts={num_restarts}", str(SCRIPTS / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | ENVIRONMENT,
    )


def run_on_ranks(script: str, num_ranks: int, *arguments: object) -> None:
    """Runs a script that must succeed."""
    done = torchrun(script, num_ranks, *arguments)
    assert done.returncode == 0, done.stderr[-6000:]


def read_lines(path: Path) -> list[Any]:
    """The JSON values of a file, one a line; a line that a killed rank has not finished is left out."""
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines[:-1]]
