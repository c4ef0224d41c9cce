"""Runs an example and notes which labels every optimiser step is made from; can die in the middle of one.

Usage: recorded.py LOG DIE_AT SCRIPT [ARGUMENT ...]

Each rank appends to LOG.<rank> a line of labels for every batch that it trains on, and `null` after every optimiser
step. DIE_AT is the batch in which all ranks die; 0: none.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path

from torch.nn import functional
from torch.optim.optimizer import register_optimizer_step_post_hook

log, die_at = Path(f"{sys.argv[1]}.{os.environ.get('RANK', '0')}"), int(sys.argv[2])
num_batches = 0
cross_entropy = functional.cross_entropy


def note(value):
    """A line of its own, on the disk before anybody dies."""
    with log.open("a") as lines:
        lines.write(json.dumps(value) + "\n")


def noting(answers, labels, *args, **kwargs):
    """In place of `cross_entropy`, which all examples train with: what it gets is what the model is trained on."""
    global num_batches  # noqa: PLW0603
    num_batches += 1
    note(labels.tolist())
    if num_batches == die_at:
        os._exit(9)
    return cross_entropy(answers, labels, *args, **kwargs)


functional.cross_entropy = noting
register_optimizer_step_post_hook(lambda *_: note(None))
sys.argv = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
