"""One rank of the demo's training; torchrun starts it. `python -m headrace.cli.demo.training PLAN RESULTS`."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from headrace.cli.demo.feeds import make_feed
from headrace.cli.demo.plan import RankResult, RunPlan


def make_model(num_classes: int) -> Any:
    """A small network for 224 x 224 images: real gradients at little cost."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(3, 16, kernel_size=8, stride=8),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, num_classes),
    )


class Trainer:
    """The model on this rank, its optimiser, and what is counted."""

    def __init__(self, plan: RunPlan, num_classes: int) -> None:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(plan.seed)
        self.model = DistributedDataParallel(make_model(num_classes))
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.loss = torch.nn.CrossEntropyLoss()
        self.step_s = plan.step_ms / 1000.0
        self.num_right = 0
        self.num_seen = 0

    def step(self, images: Any, labels: Any) -> None:
        """One training step; the sleep is what an accelerator of that speed would leave the CPU."""
        answers = self.model(images)
        self.optimiser.zero_grad()
        self.loss(answers, labels).backward()
        self.optimiser.step()
        self.num_right += int((answers.argmax(1) == labels).sum())
        self.num_seen += len(labels)
        time.sleep(self.step_s)


class Clock:
    """Times the batches on their way to the trainer."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.first_batch_s = 0.0
        self.waited_s = 0.0
        self.num_samples = 0
        self.num_first = 0

    def watch(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Hands the batches on and times the waiting for each."""
        asked = time.perf_counter()
        for batch in batches:
            now = time.perf_counter()
            self.waited_s += now - asked
            if not self.num_samples:
                # The making of dataset and loader is part of the first batch's delay.
                self.first_batch_s = self.waited_s = now - self.started
                self.num_first = len(batch[0])
            self.num_samples += len(batch[0])
            yield batch
            asked = time.perf_counter()

    def result(self, *, accuracy: float) -> RankResult:
        """What was measured until now."""
        total_s = time.perf_counter() - self.started
        return RankResult(
            num_samples=self.num_samples,
            total_s=total_s,
            waited_s=self.waited_s,
            first_batch_s=self.first_batch_s,
            later_samples_per_s=(self.num_samples - self.num_first) / (total_s - self.first_batch_s),
            accuracy=accuracy,
        )


def train(plan: RunPlan, *, num_classes: int, on_step: Callable[[], object]) -> RankResult:
    """Trains on this rank as planned. The process group is up."""
    import torch.distributed as dist

    trainer = Trainer(plan, num_classes)
    dist.barrier()
    clock = Clock()
    feed = make_feed(plan)
    try:
        for epoch in range(plan.num_epochs):
            trainer.num_right = trainer.num_seen = 0
            for images, labels in islice(clock.watch(feed.epoch(epoch)), plan.max_steps):
                trainer.step(images, labels)
                on_step()
        return clock.result(accuracy=trainer.num_right / max(trainer.num_seen, 1))
    finally:
        feed.close()


def main(plan_path: Path, results: Path) -> None:
    """Joins the other ranks and trains.

    Leaves in the results folder `rank<k>.json`, or `error<k>` with the traceback; `steps<k>` grows by a byte a step.
    """
    import torch
    import torch.distributed as dist

    plan = RunPlan.read(plan_path)
    torch.set_num_threads(plan.num_threads)
    dist.init_process_group("gloo")
    try:
        num_classes = sum(path.is_dir() for path in Path(plan.photographs).iterdir())
        with (results / f"steps{dist.get_rank()}").open("ab", buffering=0) as steps:
            result = train(plan, num_classes=num_classes, on_step=lambda: steps.write(b"."))
        result.write(results / f"rank{dist.get_rank()}.json")
    except Exception:
        (results / f"error{dist.get_rank()}").write_text(traceback.format_exc())
        raise
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
