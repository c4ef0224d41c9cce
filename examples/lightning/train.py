"""Trains a torchvision classifier on tar shards with Lightning; `README.md` beside this says how.

Started again after a crash, it goes on from the last checkpoint, with the batch after the last one that it trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning
import torch
import torchvision
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn import functional
from torchvision.transforms import v2

import headrace as hr

FIELDS = ("jpg;jpeg;png", "cls")
TO_TENSOR = (
    v2.ToImage(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000146}.tar'")
    parser.add_argument("--validate", help="validation shards")
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"), help="folder to go on from")
    parser.add_argument("--save-every", type=int, default=500, help="optimiser steps from one checkpoint to the next")
    parser.add_argument("--devices", default="auto", help="processes, one a GPU; or as many on the CPU")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision.models")
    parser.add_argument("--num-classes", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--accumulate", type=int, default=1, help="batches an optimiser step on each rank")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Loader(hr.DataLoader[Any]):
    """A loader for trainers that end an epoch by counting its batches.

    Lightning never asks for the batch after the last one, so that it saves in front of the end of an epoch and means
    the beginning of the next.
    """

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on from a saved position; the next epoch's beginning if nothing is left of its own."""
        super().load_state_dict(state_dict)
        if self.steps_left == 0:
            self.set_epoch(self.epoch + 1)


class Photographs(lightning.LightningDataModule):
    """The training data. What it saves is in every checkpoint; Lightning alone keeps loaders in mid-epoch only."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__()
        self.args = args
        crop = [v2.RandomResizedCrop(args.size), v2.RandomHorizontalFlip()]
        self.loader = Loader(
            hr.ShardDataset(args.train, fields=FIELDS, transform=v2.Compose([*crop, *TO_TENSOR])),
            batch_size=args.batch_size,
            accumulate=args.accumulate,
            shuffle=True,
            seed=args.seed,
            drop_last=True,
            pin_memory=True,
        )

    def train_dataloader(self) -> Loader:
        """The loader, as it is: it finds its rank by itself."""
        return self.loader

    def val_dataloader(self) -> hr.DataLoader[Any] | list[Any]:
        """Centre crops in dataset order. Padding keeps the ranks even and is marked in the last entry of a batch."""
        if not self.args.validate:
            return []
        crop = [v2.Resize(self.args.size * 8 // 7), v2.CenterCrop(self.args.size)]
        dataset = hr.ShardDataset(self.args.validate, fields=FIELDS, transform=v2.Compose([*crop, *TO_TENSOR]))
        return hr.DataLoader(dataset, batch_size=self.args.batch_size, tail="pad", extras=("valid",))

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from there."""
        self.loader.load_state_dict(state_dict)


class Classifier(lightning.LightningModule):
    """A model of torchvision and its optimiser."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__()
        self.args = args
        self.model = torchvision.models.get_model(args.model, num_classes=args.num_classes)

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> torch.Tensor:
        """The loss of one batch, which Lightning has moved to the device."""
        images, labels = batch
        loss = functional.cross_entropy(self.model(images), labels, label_smoothing=0.1)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor], batch_idx: int) -> None:
        """Adds the share of right answers; over all batches and ranks every sample counts once."""
        images, labels, valid = batch
        right = (self.model(images).argmax(1) == labels) & valid
        num_samples = len(self.trainer.val_dataloaders.dataset)  # type: ignore[union-attr]
        self.log("accuracy", right.sum() / num_samples, reduce_fx="sum", sync_dist=True)

    def on_validation_end(self) -> None:
        """Tells the accuracy on rank 0."""
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch}: accuracy {self.trainer.callback_metrics['accuracy']:.2%}", flush=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """SGD, as for ImageNet."""
        return torch.optim.SGD(self.parameters(), lr=self.args.lr, momentum=0.9, weight_decay=5e-5, nesterov=True)


def main() -> None:
    """Trains from the last checkpoint, or from the beginning if there is none."""
    args = parse_arguments()
    lightning.seed_everything(args.seed)
    trainer = lightning.Trainer(
        max_epochs=args.epochs,
        devices=args.devices,
        accumulate_grad_batches=args.accumulate,
        callbacks=[ModelCheckpoint(args.checkpoints, save_last=True, every_n_train_steps=args.save_every)],
        default_root_dir=args.checkpoints,
    )
    trainer.fit(Classifier(args), datamodule=Photographs(args), ckpt_path="last")


if __name__ == "__main__":
    main()
