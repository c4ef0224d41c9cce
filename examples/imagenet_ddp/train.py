"""Trains a torchvision classifier on tar shards with DistributedDataParallel; `README.md` beside this says how.

Runs on as many ranks as torchrun starts, with NCCL where there are GPUs and gloo elsewhere. Started again after a
crash, it goes on from its checkpoint, on as many ranks as there are then.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torchvision
from torch.distributed.checkpoint.stateful import Stateful
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000146}.tar'")
    parser.add_argument("--validate", help="validation shards")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision.models")
    parser.add_argument("--num-classes", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--lr", type=float, default=0.1, help="for a global batch of 256; scaled in proportion")
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, help="file; written by rank 0, and gone on from if it is there")
    parser.add_argument("--save-every", type=int, default=500, help="steps from one checkpoint to the next")
    return parser.parse_args()


def find_device() -> torch.device:
    """This rank's GPU, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def make_train_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
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
        dataset, batch_size=args.batch_size, shuffle=True, seed=args.seed, drop_last=True, pin_memory=True
    )


def make_validation_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Centre crops in dataset order, each sample counted once: padding rows are marked in `loader.valid`."""
    transform = v2.Compose(
        [
            v2.Resize(args.size * 8 // 7),
            v2.CenterCrop(args.size),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.ShardDataset(args.validate, fields=("jpg;jpeg;png", "cls"), transform=transform)
    return hr.DataLoader(dataset, batch_size=args.batch_size, tail="pad", extras=("valid",), pin_memory=True)


class Checkpoint:
    """One file with the state of everything that moves, the loader's place among it."""

    def __init__(self, path: Path | None, parts: Mapping[str, Stateful]) -> None:
        self.path = path
        self.parts = parts

    def load(self) -> None:
        """Goes on from the file, if there is one."""
        if self.path is not None and self.path.exists():
            states = torch.load(self.path, map_location="cpu", weights_only=True)
            for name, part in self.parts.items():
                part.load_state_dict(states[name])

    def save(self) -> None:
        """Rank 0 replaces the file as a whole: a crash in the middle leaves the one before."""
        if self.path is not None and dist.get_rank() == 0:
            unfinished = self.path.with_name(self.path.name + ".unfinished")
            torch.save({name: part.state_dict() for name, part in self.parts.items()}, unfinished)
            unfinished.replace(self.path)


def train_epoch(
    model: torch.nn.Module,
    loader: hr.DataLoader[Any],
    optimiser: torch.optim.Optimizer,
    checkpoint: Checkpoint,
    save_every: int,
) -> float:
    """One epoch, or what is left of it; returns the mean loss on this rank."""
    model.train()
    device = next(model.parameters()).device
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    total, num_steps = torch.zeros((), device=device), 0
    for images, labels in loader:
        loss = criterion(model(images.to(device, non_blocking=True)), labels.to(device, non_blocking=True))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        total += loss.detach()
        num_steps += 1
        if loader.step % save_every == 0:
            checkpoint.save()
    return float(total) / max(1, num_steps)


@torch.no_grad()
def validate(model: torch.nn.Module, loader: hr.DataLoader[Any], device: torch.device) -> float:
    """Share of right answers over all ranks; every sample counts once."""
    model.eval()
    counts = torch.zeros(2, device=device)
    for images, labels, valid in loader:
        answers = model(images.to(device, non_blocking=True)).argmax(1)
        keep = torch.as_tensor(valid).to(device)
        counts[0] += ((answers == labels.to(device)) & keep).sum()
        counts[1] += keep.sum()
    dist.all_reduce(counts)
    return float(counts[0] / counts[1])


def train(args: argparse.Namespace, device: torch.device) -> None:
    """All epochs that are left."""
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(torchvision.models.get_model(args.model, num_classes=args.num_classes).to(device))
    global_batch = args.batch_size * dist.get_world_size()
    optimiser = torch.optim.SGD(
        model.parameters(), lr=args.lr * global_batch / 256, momentum=0.9, weight_decay=5e-5, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, args.epochs)
    loader = make_train_loader(args)
    validation = make_validation_loader(args) if args.validate else None
    parts = {"model": model.module, "optimiser": optimiser, "schedule": schedule, "loader": loader}
    checkpoint = Checkpoint(args.checkpoint, parts)
    checkpoint.load()
    if dist.get_rank() == 0:
        print(loader.explain(), flush=True)
    for epoch in range(loader.epoch, args.epochs):
        loss = train_epoch(model, loader, optimiser, checkpoint, args.save_every)
        schedule.step()
        checkpoint.save()
        accuracy = validate(model, validation, device) if validation else None
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.3f}" + (f", accuracy {accuracy:.2%}" if accuracy is not None else ""))


def main() -> None:
    """Joins the other ranks and trains."""
    args = parse_arguments()
    device = find_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        train(args, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
