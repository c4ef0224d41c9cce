"""Runs an example and notes which labels every training step gets; can die in the middle of a step.

Usage: recorded.py LOG DIE_AT SCRIPT [ARGUMENT ...]

Each rank appends a line of labels a step to LOG.<rank>. DIE_AT is the step in which all ranks die; 0: none.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path

from torch.nn import functional

log, die_at = Path(f"{sys.argv[1]}.{os.environ.get('RANK', '0')}"), int(sys.argv[2])
steps = 0
cross_entropy = functional.cross_entropy


def noting(answers, labels, *args, **kwargs):
    """In place of `cross_entropy`, which all examples train with: what it gets is what the model was trained on."""
    global steps  # noqa: PLW0603
    steps += 1
    with log.open("a") as lines:
        lines.write(json.dumps(labels.tolist()) + "\n")
    if steps == die_at:
        os._exit(9)
    return cross_entropy(answers, labels, *args, **kwargs)


functional.cross_entropy = noting
sys.argv = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
