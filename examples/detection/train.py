"""Trains a torchvision detector on shards of photographs and boxes; `README.md` beside this says how.

Runs on as many ranks as torchrun starts, with NCCL where there are GPUs and gloo elsewhere. Started again after a
crash, it goes on from its checkpoint, on as many ranks as there are then.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

import torch
import torch.distributed as dist
import torchvision
from torch.distributed.checkpoint.stateful import Stateful
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

FIELDS: dict[str, str | hr.Field] = {
    "image": "jpg;jpeg;png",
    "boxes": hr.field("json", kind="boxes", get="objects[].bbox", format="XYWH"),
    "labels": hr.field("json", kind="label", get="objects[].label", classes="auto"),
}
Batch = Mapping[str, list[torch.Tensor]]
"""Photographs of different sizes, boxes of different numbers: a list of tensors by field."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000019}.tar'")
    parser.add_argument(
        "--model", default="fasterrcnn_mobilenet_v3_large_320_fpn", help="a model of torchvision.models.detection"
    )
    parser.add_argument("--epochs", type=int, default=26)
    parser.add_argument("--batch-size", type=int, default=8, help="photographs a batch on each rank")
    parser.add_argument("--lr", type=float, default=0.02)
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


def make_loader(args: argparse.Namespace) -> hr.DataLoader[Batch]:
    """Crops that keep a good part of some box, flips; boxes follow, and those that are lost go with their labels."""
    transform = v2.Compose(
        [
            v2.RandomIoUCrop(),
            v2.RandomHorizontalFlip(),
            v2.ConvertBoundingBoxFormat("XYXY"),  # which detectors want
            v2.SanitizeBoundingBoxes(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    return hr.DataLoader(
        hr.ShardDataset(args.train, fields=FIELDS, transform=transform),
        batch_size=args.batch_size,
        shuffle=True,
        seed=args.seed,
        drop_last=True,
        pin_memory=True,
        collate=dict.fromkeys(FIELDS, "list"),
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


def move(batch: Batch, device: torch.device) -> tuple[list[torch.Tensor], list[dict[str, torch.Tensor]]]:
    """Images and targets as torchvision's detectors take them, whose class 0 is the background."""
    here = {name: [one.to(device, non_blocking=True) for one in column] for name, column in batch.items()}
    targets = [
        {"boxes": boxes, "labels": labels + 1} for boxes, labels in zip(here["boxes"], here["labels"], strict=True)
    ]
    return here["image"], targets


def train_epoch(
    model: torch.nn.Module,
    loader: hr.DataLoader[Batch],
    optimiser: torch.optim.Optimizer,
    args: argparse.Namespace,
    parts: Mapping[str, Stateful],
) -> float:
    """One epoch, or what is left of it; returns the mean loss on this rank."""
    model.train()
    device = next(model.parameters()).device
    total, num_steps = torch.zeros((), device=device), 0
    for batch in loader:
        losses = model(*move(batch, device))
        loss = torch.stack(list(losses.values())).sum()
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
    loader = make_loader(args)
    num_classes = len(loader.dataset.classes) + 1
    model = torchvision.models.get_model(args.model, weights=None, weights_backbone=None, num_classes=num_classes)
    parallel = DistributedDataParallel(model.to(device))
    optimiser = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
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
            print(f"epoch {epoch}: loss {loss:.3f}")


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
