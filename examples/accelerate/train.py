"""Trains a torchvision classifier on tar shards with Accelerate; `README.md` beside this says how.

Started again after a crash, it goes on from the last checkpoint, with the batch after the last one that it trained on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
import torchvision
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.nn import functional
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000146}.tar'")
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"), help="folder to go on from")
    parser.add_argument("--save-every", type=int, default=500, help="optimiser steps from one checkpoint to the next")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision.models")
    parser.add_argument("--num-classes", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--accumulate", type=int, default=1, help="batches an optimiser step on each rank")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def make_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Random crops in another order each epoch. Ranks and epochs need no help."""
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(args.size),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.ShardDataset(args.train, fields=("jpg;jpeg;png", "cls"), transform=transform)
    return hr.DataLoader(
        dataset,
        batch_size=args.batch_size,
        accumulate=args.accumulate,
        shuffle=True,
        seed=args.seed,
        drop_last=True,
        pin_memory=True,
    )


class Checkpoints:
    """Folders `step-N` with all that Accelerate knows of. Each appears when it is whole."""

    def __init__(self, accelerator: Accelerator, folder: Path) -> None:
        self.accelerator = accelerator
        self.folder = folder

    def save(self, step: int) -> None:
        """Called on all ranks, between the same two batches."""
        unfinished = self.folder / "unfinished"
        self.accelerator.save_state(str(unfinished))
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            unfinished.rename(self.folder / f"step-{step:09}")

    def load_last(self) -> int:
        """Goes on from the last checkpoint; returns the number of its step, 0 if there is none."""
        last = max(self.folder.glob("step-*"), default=None)
        if last is None:
            return 0
        self.accelerator.load_state(str(last))
        self.accelerator.step = 0  # it counts batches, perhaps of other ranks; the next one begins an optimiser step
        return int(last.name.removeprefix("step-"))


def train(args: argparse.Namespace, accelerator: Accelerator) -> None:
    """All epochs that are left."""
    model = torchvision.models.get_model(args.model, num_classes=args.num_classes)
    optimiser = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-5, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, args.epochs)
    loader = make_loader(args)
    model, optimiser = accelerator.prepare(model, optimiser)
    accelerator.register_for_checkpointing(loader, schedule)
    checkpoints = Checkpoints(accelerator, args.checkpoints)
    step = checkpoints.load_last()
    accelerator.print(loader.explain())
    for epoch in range(loader.epoch, args.epochs):
        for images, labels in loader:
            with accelerator.accumulate(model):
                answers = model(images.to(accelerator.device, non_blocking=True))
                labels_there = labels.to(accelerator.device, non_blocking=True)
                loss = functional.cross_entropy(answers, labels_there, label_smoothing=0.1)
                accelerator.backward(loss)
                optimiser.step()
                optimiser.zero_grad()
            step += accelerator.sync_gradients
            if accelerator.sync_gradients and step % args.save_every == 0:
                checkpoints.save(step)
                accelerator.print(f"epoch {epoch}, step {step}: loss {loss.item():.3f}")
        schedule.step()


def main() -> None:
    """Joins the other ranks and trains."""
    args = parse_arguments()
    set_seed(args.seed)
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
    train(args, accelerator)
    accelerator.end_training()


if __name__ == "__main__":
    main()
