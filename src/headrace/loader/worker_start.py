"""What a worker process does before its first step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.utils.data import _utils

from headrace.recipes.generators import GENERATORS

NUM_SEEDS = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStart:
    """Called once in each worker with its number."""

    dataset: Any
    num_workers: int
    seed: int
    seeds_samples: bool
    """Whether global generators follow the samples."""
    worker_init_fn: Callable[[int], Any] | None

    def __call__(self, number: int) -> None:
        """Lets `torch.utils.data.get_worker_info` answer as in a worker of torch, then calls the user's function."""
        seed = (self.seed + number) % NUM_SEEDS
        GENERATORS.follow_samples = self.seeds_samples
        GENERATORS.seed(seed)
        info = {"id": number, "num_workers": self.num_workers, "seed": seed, "dataset": self.dataset}
        _utils.worker._worker_info = _utils.worker.WorkerInfo(**info)  # noqa: SLF001 - torch has no other way to say it
        if self.worker_init_fn is not None:
            self.worker_init_fn(number)
