"""Trains with the loader of examples/lightning, saves wherever Lightning can, and goes on from each checkpoint.

Usage: every_checkpoint_lightning.py TRAIN_PY SHARDS

Prints as JSON how many checkpoints there were and from which of them the rest of the run was another one.
"""

from __future__ import annotations

import json
import logging
import runpy
import sys
import tempfile
import warnings
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

import headrace as hr

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
example = runpy.run_path(sys.argv[1])
dataset = hr.ShardDataset(sys.argv[2], fields="cls")

SAVES = {
    "after batches": {"every_n_train_steps": 1},
    "at the end of epochs": {"every_n_epochs": 1, "save_on_train_epoch_end": True},
    "after validation": {"every_n_epochs": 1, "save_on_train_epoch_end": False},
}


class Labels(example["Photographs"]):
    """The example's data module over labels alone."""

    def __init__(self, accumulate):
        lightning.LightningDataModule.__init__(self)
        options = {"batch_size": 8, "accumulate": accumulate, "shuffle": True, "drop_last": accumulate > 1}
        self.loader = example["Loader"](dataset, **options)

    def val_dataloader(self):
        return hr.DataLoader(dataset, batch_size=20)


class Noting(lightning.LightningModule):
    """A model of one weight that notes what it is trained on."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen = []

    def training_step(self, batch, batch_idx):
        self.seen.append(batch.tolist())
        return self.weight * batch.sum()

    def validation_step(self, batch, batch_idx):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def train(options, callbacks=(), checkpoint=None):
    """The model after all epochs; also checks that the trainer took the loader as it is."""
    model, data = Noting(), Labels(options.get("accumulate_grad_batches", 1))
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    quiet["enable_checkpointing"] = bool(callbacks)
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", callbacks=list(callbacks), **quiet, **options)
    trainer.fit(model, datamodule=data, ckpt_path=checkpoint)
    assert trainer.train_dataloader is data.loader
    return model


def wrong_of(name, options):
    """Checkpoints of a run, and those that were not followed by its rest."""
    with tempfile.TemporaryDirectory() as folder:
        whole = train(options, [ModelCheckpoint(folder, filename="{step}", save_top_k=-1, **SAVES[name])])
        paths = sorted(Path(folder).glob("*.ckpt"))
        wrong = []
        for path in paths:
            done = torch.load(path)["global_step"] * options.get("accumulate_grad_batches", 1)
            rest = train(options, checkpoint=path)
            if whole.seen[:done] + rest.seen != whole.seen or rest.weight != whole.weight:
                wrong.append(f"{name}, {options}: {path.name}")
    return len(paths), wrong


RUNS = (
    ("after batches", {}),
    ("after batches", {"max_steps": 13}),
    ("after batches", {"accumulate_grad_batches": 2}),
    ("at the end of epochs", {}),
    ("after validation", {}),
    ("after validation", {"val_check_interval": 3}),
)
found = [wrong_of(name, options) for name, options in RUNS]
report = {"checkpoints": [number for number, _ in found], "wrong": [one for _, more in found for one in more]}
sys.stdout.write(json.dumps(report))
