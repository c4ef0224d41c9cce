"""Trains with the trainer of examples/hf_trainer, saves after every optimiser step, and goes on from each checkpoint.

Usage: every_checkpoint_hf_trainer.py TRAIN_PY SHARDS

Prints as JSON how many checkpoints there were and from which of them the rest of the run was another one.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from pathlib import Path

import torch
import transformers

import headrace as hr

transformers.logging.set_verbosity_error()
example = runpy.run_path(sys.argv[1])
dataset = hr.ShardDataset(sys.argv[2], fields={"labels": "cls"})


class Noting(torch.nn.Module):
    """A model of one weight that notes what it is trained on."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen = []

    def forward(self, labels):
        self.seen.append(labels.tolist())
        return {"loss": self.weight * labels.sum()}


def train(folder, options, checkpoint=None):
    """The model and the trainer's state after all epochs; also checks that the loader was taken as it is."""
    accumulate = options.get("gradient_accumulation_steps", 1)
    loader = hr.DataLoader(dataset, batch_size=12, accumulate=accumulate, shuffle=True, drop_last=accumulate > 1)
    quiet = {"disable_tqdm": True, "report_to": "none", "logging_strategy": "no", "use_cpu": True}
    arguments = transformers.TrainingArguments(
        output_dir=folder, num_train_epochs=2, optim="sgd", save_steps=1, learning_rate=1e-3, **quiet, **options
    )
    trainer = example["LoaderTrainer"](model=Noting(), args=arguments, loader=loader)
    trainer.train(resume_from_checkpoint=checkpoint)
    assert trainer.callback_handler.train_dataloader is loader
    return trainer.model, trainer.state.global_step


def wrong_of(options):
    """Checkpoints of a run, and those that were not followed by its rest."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        whole, num_steps = train(first, options)
        paths = [Path(first, f"checkpoint-{step}") for step in range(1, num_steps)]
        wrong = []
        for step, path in enumerate(paths, 1):
            done = step * options.get("gradient_accumulation_steps", 1)
            rest, last_step = train(second, options, str(path))
            exact = whole.seen[:done] + rest.seen == whole.seen and rest.weight == whole.weight
            if not exact or last_step != num_steps:
                wrong.append(f"{options}: {path.name}")
    return len(paths), wrong


found = [wrong_of(options) for options in ({}, {"gradient_accumulation_steps": 2}, {"max_steps": 8})]
report = {"checkpoints": [number for number, _ in found], "wrong": [one for _, more in found for one in more]}
sys.stdout.write(json.dumps(report))
