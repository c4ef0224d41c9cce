"""The two ways in which the demo's training gets its batches: the same samples, transforms and batches on both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from headrace.cli.demo.plan import IMAGE_SIZE, MEAN, STD, RunPlan


class Feed(Protocol):
    """Batches of (images, labels), epoch by epoch."""

    def epoch(self, number: int) -> Iterator[Any]:
        """The batches of one epoch on this rank."""

    def close(self) -> None:
        """Ends workers."""


def transform() -> Any:
    """Random crop to 224 x 224, flip, float32 in [0, 1], normalised: what ImageNet training commonly does."""
    import torch
    from torchvision.transforms import v2

    return v2.Compose(
        [
            v2.RandomResizedCrop(IMAGE_SIZE),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


class StockFeed:
    """`torch.utils.data.DataLoader` over `torchvision.datasets.ImageFolder`, set up with care."""

    def __init__(self, plan: RunPlan) -> None:
        from torch.utils.data import DataLoader
        from torch.utils.data.distributed import DistributedSampler
        from torchvision.datasets import ImageFolder

        dataset = ImageFolder(plan.photographs, transform())
        self.sampler: Any = DistributedSampler(dataset, shuffle=True, seed=plan.seed, drop_last=True)
        with_workers: dict[str, Any] = {"prefetch_factor": 2, "persistent_workers": True} if plan.num_workers else {}
        self.loader: Any = DataLoader(
            dataset,
            batch_size=plan.batch_size,
            sampler=self.sampler,
            num_workers=plan.num_workers or 0,
            drop_last=True,
            **with_workers,
        )

    def epoch(self, number: int) -> Iterator[Any]:
        """The batches of one epoch on this rank."""
        self.sampler.set_epoch(number)
        return iter(self.loader)

    def close(self) -> None:
        """Ends the workers, which live as long as the loader."""
        self.loader = None


class HeadraceFeed:
    """`headrace.DataLoader` over `headrace.ShardDataset`: ranks and epochs are its own business."""

    def __init__(self, plan: RunPlan) -> None:
        from headrace.datasets import ShardDataset
        from headrace.loader import DataLoader

        shards = sorted(str(path) for path in Path(plan.shards).glob("*.tar"))
        dataset = ShardDataset(shards, fields=("jpg;jpeg;png", "cls"), transform=transform())
        self.loader: DataLoader[Any] = DataLoader(
            dataset, batch_size=plan.batch_size, shuffle=True, seed=plan.seed, drop_last=True, persistent_workers=True
        )

    def epoch(self, number: int) -> Iterator[Any]:
        """The batches of one epoch on this rank."""
        self.loader.set_epoch(number)
        return iter(self.loader)

    def close(self) -> None:
        """Ends the loader's threads."""
        self.loader.close()


def make_feed(plan: RunPlan) -> Feed:
    """The feed that a plan asks for."""
    return StockFeed(plan) if plan.side == "stock" else HeadraceFeed(plan)
