"""Trains an image classifier on tar shards with the Trainer of transformers; `README.md` beside this says how.

Started again after a crash, it goes on from the last checkpoint, with the batch after the last one that it trained on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torchvision.transforms import v2
from transformers import (
    AutoConfig,
    AutoModelForImageClassification,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import get_last_checkpoint

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000146}.tar'")
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"), help="folder to go on from")
    parser.add_argument("--save-every", type=int, default=500, help="optimiser steps from one checkpoint to the next")
    parser.add_argument("--model", default="microsoft/resnet-50", help="name or folder of a model's configuration")
    parser.add_argument("--num-classes", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--accumulate", type=int, default=1, help="batches an optimiser step on each rank")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def make_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Batches named as the model's arguments are. Ranks and epochs need no help."""
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(args.size),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    fields = {"pixel_values": "jpg;jpeg;png", "labels": "cls"}
    dataset = hr.ShardDataset(args.train, fields=fields, transform={"pixel_values": transform})
    return hr.DataLoader(
        dataset,
        batch_size=args.batch_size,
        accumulate=args.accumulate,
        shuffle=True,
        seed=args.seed,
        drop_last=True,
        pin_memory=True,
    )


class LoaderPosition(TrainerCallback, ExportableState):
    """Keeps the loader's position in `trainer_state.json` of each checkpoint."""

    loader: hr.DataLoader[Any] | None = None
    position: dict[str, Any] | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **objects: Any
    ) -> None:
        """Goes on from the position that the trainer found in a checkpoint, if it did."""
        loader: hr.DataLoader[Any] = objects["train_dataloader"]
        if self.position is not None:
            loader.load_state_dict(self.position)
        self.loader, self.position = loader, None

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of this callback."""
        return {"args": {}, "attributes": {"position": self.loader and self.loader.state_dict()}}


class LoaderTrainer(Trainer):
    """A trainer that is fed by a loader instead of a dataset."""

    def __init__(self, *, loader: hr.DataLoader[Any], **others: Any) -> None:
        super().__init__(**others, callbacks=[LoaderPosition()])
        self.args.restore_callback_states_from_checkpoint = True
        self.args.ignore_data_skip = True  # the trainer would skip what the loader has behind it
        self.loader = loader

    def get_train_dataloader(self) -> hr.DataLoader[Any]:  # type: ignore[override]
        """The loader, as it is: it finds its rank by itself."""
        return self.loader


def main() -> None:
    """Trains from the last checkpoint, or from the beginning if there is none."""
    args = parse_arguments()
    arguments = TrainingArguments(
        output_dir=str(args.checkpoints),
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.accumulate,
        learning_rate=args.lr,
        optim="sgd",
        save_steps=args.save_every,
        save_total_limit=2,
        report_to="none",
        seed=args.seed,
    )
    config = AutoConfig.from_pretrained(args.model, num_labels=args.num_classes)
    model = AutoModelForImageClassification.from_config(config)
    trainer = LoaderTrainer(model=model, args=arguments, loader=make_loader(args))
    trainer.train(resume_from_checkpoint=get_last_checkpoint(args.checkpoints) if args.checkpoints.exists() else None)


if __name__ == "__main__":
    main()
