"""Runs an example and notes what every optimiser step is made from; can die in the middle of one.

Usage: recorded.py LOG DIE_AT WHAT SCRIPT [ARGUMENT ...]

Each rank appends to LOG.<rank> a line for every batch that it trains on, and `null` after every optimiser step. WHAT is
"labels" (those of the batch) or "images" (a fingerprint of each). DIE_AT is the batch in which all ranks die; 0: none.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path

from torch.nn import functional
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_post_hook

sys.path.insert(0, str(Path(__file__).parent))
from fingerprints import fingerprints

log, die_at = Path(f"{sys.argv[1]}.{os.environ.get('RANK', '0')}"), int(sys.argv[2])
num_batches = 0
cross_entropy = functional.cross_entropy


def note(value):
    """A line of its own, on the disk before anybody dies."""
    with log.open("a") as lines:
        lines.write(json.dumps(value) + "\n")


def note_batch(rows):
    """Notes what a batch is made of, and dies where that is wanted."""
    global num_batches  # noqa: PLW0603
    num_batches += 1
    note(rows)
    if num_batches == die_at:
        os._exit(9)


def noting(answers, labels, *args, **kwargs):
    """In place of `cross_entropy`, which classifiers train with: what it gets is what the model is trained on."""
    note_batch(labels.tolist())
    return cross_entropy(answers, labels, *args, **kwargs)


def note_images(module, arguments):
    """Before each call of a module; the first argument of the parallel model are the images of a batch."""
    if isinstance(module, DistributedDataParallel) and module.training:
        note_batch(fingerprints(arguments[0]))


if sys.argv[3] == "images":
    register_module_forward_pre_hook(note_images)
else:
    functional.cross_entropy = noting
register_optimizer_step_post_hook(lambda *_: note(None))
sys.argv = sys.argv[4:]
runpy.run_path(sys.argv[0], run_name="__main__")
