"""Trains a torchvision classifier with MixUp and CutMix on a folder of class folders; `README.md` beside this says how.

Runs on as many ranks as torchrun starts, with NCCL where there are GPUs and gloo elsewhere. Started again after a
crash, it goes on from its checkpoint.
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
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="a folder of class folders of images")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision.models")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    parser.add_argument("--alpha", type=float, default=0.2, help="of MixUp: larger mixes more evenly")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, help="file; written by rank 0, and gone on from if it is there")
    parser.add_argument("--save-every", type=int, default=500, help="steps from one checkpoint to the next")
    return parser.parse_args(arguments)


def find_device() -> torch.device:
    """This rank's GPU, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def make_train_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Random crops by the sample, in the native kernel; then one of two mixtures by the batch, on the workers."""
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(args.size),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.FileDataset(args.train, fields=("image", "label"), transform=transform)
    num_classes = len(dataset.classes or ())
    mix = v2.RandomChoice([v2.MixUp(alpha=args.alpha, num_classes=num_classes), v2.CutMix(num_classes=num_classes)])
    return hr.DataLoader(
        dataset, args.batch_size, shuffle=True, seed=args.seed, drop_last=True, pin_memory=True, batch_transform=mix
    )


def load(path: Path | None, parts: Mapping[str, Stateful]) -> None:
    """Goes on from the checkpoint, if there is one."""
    if path is not None and path.exists():
        states = torch.load(path, map_location="cpu", weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(states[name])


def save(path: Path | None, parts: Mapping[str, Stateful]) -> None:
    """Rank 0 replaces the checkpoint as a whole: a crash in the middle leaves the one before."""
    if path is not None and dist.get_rank() == 0:
        unfinished = path.with_name(path.name + ".unfinished")
        torch.save({name: part.state_dict() for name, part in parts.items()}, unfinished)
        unfinished.replace(path)


def train_epoch(
    model: torch.nn.Module,
    loader: hr.DataLoader[Any],
    optimiser: torch.optim.Optimizer,
    args: argparse.Namespace,
    parts: Mapping[str, Stateful],
) -> float:
    """One epoch, or what is left of it; returns the mean loss on this rank."""
    model.train()
    device = next(model.parameters()).device
    total, num_steps = torch.zeros((), device=device), 0
    for images, shares in loader:  # shares of classes: what cross_entropy takes as probabilities
        answers = model(images.to(device, non_blocking=True))
        loss = functional.cross_entropy(answers, shares.to(device, non_blocking=True))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        total += loss.detach()
        num_steps += 1
        if loader.step % args.save_every == 0:
            save(args.checkpoint, parts)
    return float(total) / max(1, num_steps)


def train(args: argparse.Namespace, device: torch.device) -> None:
    """All epochs that are left."""
    torch.manual_seed(args.seed)
    loader = make_train_loader(args)
    num_classes = len(loader.dataset.classes)
    model = torchvision.models.get_model(args.model, num_classes=num_classes).to(device)
    parallel = DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-5, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, args.epochs)
    parts = {"model": model, "optimiser": optimiser, "schedule": schedule, "loader": loader}
    load(args.checkpoint, parts)
    if dist.get_rank() == 0:
        print(loader.explain(), flush=True)
    for epoch in range(loader.epoch, args.epochs):
        loss = train_epoch(parallel, loader, optimiser, args, parts)
        schedule.step()
        save(args.checkpoint, parts)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.3f}", flush=True)


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
