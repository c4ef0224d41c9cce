"""Trains a torchvision segmentation model on shards of photographs and masks; `README.md` beside this says how.

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
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
FIELDS = {"image": "jpg;jpeg;png", "mask": "seg.png"}
IGNORED = 255
"""Pixels of no class, as in PASCAL VOC: neither trained on nor counted."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000011}.tar'")
    parser.add_argument("--validate", help="validation shards")
    parser.add_argument(
        "--model", default="lraspp_mobilenet_v3_large", help="a model of torchvision.models.segmentation"
    )
    parser.add_argument("--num-classes", type=int, default=21)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=16, help="rows a batch on each rank")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--size", type=int, default=480, help="height and width of the crop, in pixels")
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
    """One random crop and one flip for the image and its mask. The mask is resampled with its nearest values."""
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(args.size, scale=(0.25, 1.0)),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),  # of the image; masks keep their type
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.ShardDataset(args.train, fields=FIELDS, transform=transform)
    return hr.DataLoader(
        dataset, batch_size=args.batch_size, shuffle=True, seed=args.seed, drop_last=True, pin_memory=True
    )


def make_validation_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Whole images at one size, in dataset order; padding rows are marked in `__valid__`."""
    transform = v2.Compose(
        [
            v2.Resize((args.size, args.size)),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.ShardDataset(args.validate, fields=FIELDS, transform=transform)
    return hr.DataLoader(dataset, batch_size=args.batch_size, tail="pad", extras=("valid",), pin_memory=True)


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


def move(batch: Mapping[str, Any], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Images, and masks as class numbers: they travel as bytes and become the type of losses on the device."""
    images = batch["image"].to(device, non_blocking=True)
    return images, batch["mask"].to(device, non_blocking=True).long()


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
    for batch in loader:
        images, masks = move(batch, device)
        loss = functional.cross_entropy(model(images)["out"], masks, ignore_index=IGNORED)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        total += loss.detach()
        num_steps += 1
        if loader.step % args.save_every == 0:
            save(args.checkpoint, parts)
    return float(total) / max(1, num_steps)


@torch.no_grad()
def validate(model: torch.nn.Module, loader: hr.DataLoader[Any], num_classes: int, device: torch.device) -> float:
    """Mean over the classes of intersection over union, over the samples of all ranks, each counted once."""
    model.eval()
    counts = torch.zeros(num_classes, num_classes, dtype=torch.int64, device=device)
    for batch in loader:
        images, masks = move(batch, device)
        answers = model(images)["out"].argmax(1)
        masks[~torch.as_tensor(batch["__valid__"]).to(device)] = IGNORED
        known = masks != IGNORED
        pairs = masks[known] * num_classes + answers[known]
        counts += torch.bincount(pairs, minlength=num_classes**2).reshape(num_classes, num_classes)
    dist.all_reduce(counts)
    union = counts.sum(0) + counts.sum(1) - counts.diagonal()
    return float((counts.diagonal()[union > 0] / union[union > 0]).mean())


def train(args: argparse.Namespace, device: torch.device) -> None:
    """All epochs that are left."""
    torch.manual_seed(args.seed)
    model = torchvision.models.get_model(
        args.model, weights=None, weights_backbone=None, num_classes=args.num_classes
    ).to(device)
    parallel = DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimiser, args.epochs, power=0.9)
    loader = make_train_loader(args)
    validation = make_validation_loader(args) if args.validate else None
    parts = {"model": model, "optimiser": optimiser, "schedule": schedule, "loader": loader}
    load(args.checkpoint, parts)
    if dist.get_rank() == 0:
        print(loader.explain(), flush=True)
    for epoch in range(loader.epoch, args.epochs):
        loss = train_epoch(parallel, loader, optimiser, args, parts)
        schedule.step()
        save(args.checkpoint, parts)
        overlap = validate(model, validation, args.num_classes, device) if validation else None
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.3f}" + (f", mean IoU {overlap:.2%}" if overlap is not None else ""))


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
