"""Trains an encoder without labels, as SimCLR does; `README.md` beside this says how.

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
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
PairOfViews = list[torch.Tensor]
"""Two batches of images whose rows are of the same photographs."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="training shards, for instance 'data/train-{000000..000146}.tar'")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision.models")
    parser.add_argument("--num-features", type=int, default=128, help="numbers that the loss compares")
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=128, help="photographs a batch on each rank")
    parser.add_argument("--lr", type=float, default=0.3, help="for a global batch of 256; scaled in proportion")
    parser.add_argument("--size", type=int, default=224, help="height and width of the crops, in pixels")
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


def make_loader(args: argparse.Namespace) -> hr.DataLoader[PairOfViews]:
    """Two views of each photograph, which is read once: other crops, flips and colours."""
    view = v2.Compose(
        [
            v2.RandomResizedCrop(args.size, scale=(0.2, 1.0)),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
            v2.RandomGrayscale(0.2),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.ShardDataset(args.train, fields="jpg;jpeg;png", transform=hr.Views((view, 2)))
    return hr.DataLoader(
        dataset, batch_size=args.batch_size, shuffle=True, seed=args.seed, drop_last=True, pin_memory=True
    )


def make_model(args: argparse.Namespace, device: torch.device) -> torch.nn.Module:
    """An encoder, and the projection that is thrown away after training."""
    encoder = torchvision.models.get_model(args.model, weights=None, num_classes=512)
    model: torch.nn.Module = torch.nn.Sequential(encoder, torch.nn.ReLU(), torch.nn.Linear(512, args.num_features))
    if device.type == "cuda":
        # The statistics of one rank would tell which views are of one rank. torch has them for all ranks on GPUs only.
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    return model.to(device)


def gather(own: torch.Tensor) -> torch.Tensor:
    """Features of all ranks, shape (ranks, ...). Those of this rank keep their gradient, those of others have none."""
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own.detach())
    everyone[dist.get_rank()] = own
    return torch.stack(everyone)


def nt_xent(first: torch.Tensor, second: torch.Tensor, temperature: float) -> torch.Tensor:
    """The loss of SimCLR (Chen et al., 2020, equation 1): each view has to find the other view of its photograph.

    Args:
        first: Features of one view of each photograph, shape (N, D).
        second: Features of the other views, shape (N, D).
        temperature: Divides the cosine similarities.

    Returns:
        The mean over all 2 N views.
    """
    features = functional.normalize(torch.cat([first, second]), dim=1)
    similarities = features @ features.T / temperature
    similarities.fill_diagonal_(-torch.inf)  # no view is to find itself
    others = torch.arange(len(features), device=features.device).roll(len(first))
    return functional.cross_entropy(similarities, others)


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
    loader: hr.DataLoader[PairOfViews],
    optimiser: torch.optim.Optimizer,
    args: argparse.Namespace,
    parts: Mapping[str, Stateful],
) -> float:
    """One epoch, or what is left of it; returns the mean loss, which is that of the global batches."""
    model.train()
    device = next(model.parameters()).device
    total, num_steps = torch.zeros((), device=device), 0
    for views in loader:
        own = model(torch.cat([view.to(device, non_blocking=True) for view in views])).unflatten(0, (2, -1))
        first, second = gather(own).transpose(0, 1).flatten(1, 2)
        loss = nt_xent(first, second, args.temperature)
        optimiser.zero_grad(set_to_none=True)
        # Each rank has the gradient of its own part of the sum, and DistributedDataParallel takes the mean of them.
        (loss * dist.get_world_size()).backward()
        optimiser.step()
        total += loss.detach()
        num_steps += 1
        if loader.step % args.save_every == 0:
            save(args.checkpoint, parts)
    return float(total) / max(1, num_steps)


def train(args: argparse.Namespace, device: torch.device) -> None:
    """All epochs that are left."""
    torch.manual_seed(args.seed)
    model = make_model(args, device)
    parallel = DistributedDataParallel(model)
    global_batch = args.batch_size * dist.get_world_size()
    optimiser = torch.optim.SGD(model.parameters(), lr=args.lr * global_batch / 256, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, args.epochs)
    loader = make_loader(args)
    parts: dict[str, Stateful] = {"model": model, "optimiser": optimiser, "schedule": schedule, "loader": loader}
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
