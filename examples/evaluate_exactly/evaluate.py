"""Evaluates a classifier so that the figure does not depend on the number of ranks; `README.md` beside this says how.

Runs as a plain script, or on as many ranks as torchrun starts, with NCCL where there are GPUs and gloo elsewhere.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torchvision
from torchvision.transforms import v2

import headrace as hr

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is reported."""

    num_samples: int
    num_right: int
    mean_recall: float
    """Share of right answers in each class, averaged over the classes that occur."""

    def __str__(self) -> str:
        share = self.num_right / self.num_samples
        return f"accuracy {share:.4%} ({self.num_right} of {self.num_samples}), mean recall {self.mean_recall:.4%}"


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shards", help="validation shards, for instance 'data/val-{000000..000006}.tar'")
    parser.add_argument("--weights", type=Path, required=True, help="a state_dict, as examples/imagenet_ddp saves it")
    parser.add_argument("--model", default="resnet50", help="a model of torchvision.models")
    parser.add_argument("--num-classes", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=256, help="rows a batch on each rank")
    parser.add_argument("--size", type=int, default=224, help="height and width of the crop, in pixels")
    return parser.parse_args(arguments)


def find_device() -> torch.device:
    """This rank's GPU, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def make_loader(args: argparse.Namespace) -> hr.DataLoader[Any]:
    """Every sample once, in dataset order; all ranks make equal steps."""
    transform = v2.Compose(
        [
            v2.Resize(args.size * 8 // 7),
            v2.CenterCrop(args.size),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    dataset = hr.ShardDataset(args.shards, fields=("jpg;jpeg;png", "cls"), transform=transform)
    return hr.DataLoader(dataset, batch_size=args.batch_size, tail="keep")


def load_model(args: argparse.Namespace, device: torch.device) -> torch.nn.Module:
    """The model, ready to answer."""
    model = torchvision.models.get_model(args.model, weights=None, num_classes=args.num_classes)
    model.load_state_dict(torch.load(args.weights, map_location="cpu"))
    return model.to(device).eval()  # type: ignore[no-any-return]


def gather(rows: torch.Tensor) -> torch.Tensor:
    """The rows of all ranks, rank by rank. A step has equally many rows on each, so plain all-gather will do."""
    if not dist.is_initialized():
        return rows
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows)
    return torch.cat(parts)


@torch.no_grad()
def collect_answers(model: torch.nn.Module, loader: hr.DataLoader[Any], device: torch.device) -> torch.Tensor:
    """(label, answer) of every sample of the dataset, once each, on every rank; shape (samples, 2), int64."""
    steps = []
    for images, labels in loader:
        answers = model(images.to(device, non_blocking=True)).argmax(1)
        valid = torch.as_tensor(loader.valid)
        rows = gather(torch.stack([labels.to(device), answers, valid.to(device).long()], dim=1))
        steps.append(rows[rows[:, 2] == 1, :2].cpu())
    return torch.cat(steps)


def figures_of(answers: torch.Tensor, num_classes: int) -> Figures:
    """Figures that need all answers at once: a mean over classes is no mean of what ranks find."""
    table = torch.zeros(num_classes, num_classes, dtype=torch.int64)
    table.index_put_((answers[:, 0], answers[:, 1]), torch.ones(len(answers), dtype=torch.int64), accumulate=True)
    right, total = table.diagonal(), table.sum(1)
    occurs = total > 0
    recall = right[occurs].double() / total[occurs]
    return Figures(num_samples=len(answers), num_right=int(right.sum()), mean_recall=float(recall.mean()))


def evaluate(args: argparse.Namespace) -> Figures:
    """The figures, the same on every rank."""
    device = find_device()
    answers = collect_answers(load_model(args, device), make_loader(args), device)
    return figures_of(answers, args.num_classes)


def main() -> None:
    """Joins the other ranks, if there are any, and evaluates."""
    args = parse_arguments()
    if "RANK" not in os.environ:
        print(evaluate(args))
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(find_device())
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        figures = evaluate(args)
        if dist.get_rank() == 0:
            print(figures)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
