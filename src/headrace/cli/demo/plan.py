"""What one training run of the demo does, as data that travels to its processes, and what comes back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["stock", "headrace"]
"""Which loader feeds the training: torch's DataLoader over ImageFolder, or ours over shards."""

NUM_RANKS = 2
IMAGE_SIZE = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
"""The usual constants of ImageNet training, in units of full scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One training run. Both sides differ in `side` and `num_workers` alone."""

    side: Side
    photographs: str
    """Folder tree of photographs, one folder a class; what the stock side reads."""
    shards: str
    """Folder with the same photographs packed; what Headrace reads."""
    num_workers: int | None
    """Worker processes a rank of the stock loader; None leaves it to Headrace."""
    batch_size: int = 64
    """Rows a batch on each rank."""
    num_epochs: int = 2
    max_steps: int | None = None
    """Ends the run after so many steps."""
    step_ms: float = 0.0
    """A sleep in every step that stands in for an accelerator at work, in milliseconds."""
    num_threads: int = 1
    """Threads a rank for the model's own arithmetic, equal on both sides."""
    seed: int = 0

    def write(self, path: Path) -> None:
        """Writes the plan as JSON."""
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(path: Path) -> RunPlan:
        """Reads what `write` wrote."""
        return RunPlan(**json.loads(path.read_text()))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankResult:
    """What one rank measured."""

    num_samples: int
    total_s: float
    """From the making of dataset and loader to the end of the last epoch."""
    waited_s: float
    """Part of it spent waiting for a batch, the first one included."""
    first_batch_s: float
    """From the making of dataset and loader to the first batch."""
    later_samples_per_s: float
    """Samples a second after the first batch."""
    accuracy: float
    """Share of right answers on the training batches of the last epoch."""

    def write(self, path: Path) -> None:
        """Writes the result as JSON, whole or not at all."""
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)))
        partial.rename(path)

    @staticmethod
    def read(path: Path) -> RankResult:
        """Reads what `write` wrote."""
        return RankResult(**json.loads(path.read_text()))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One training run over all its ranks."""

    plan: RunPlan
    ranks: tuple[RankResult, ...]
    peak_memory_bytes: int
    """Most memory that all processes of the run held at one time, shared pages counted once."""

    @property
    def samples_per_s(self) -> float:
        """Samples a second over all ranks, the first batch's delay included."""
        return sum(rank.num_samples for rank in self.ranks) / max(rank.total_s for rank in self.ranks)

    @property
    def later_samples_per_s(self) -> float:
        """Samples a second over all ranks after the first batch."""
        return sum(rank.later_samples_per_s for rank in self.ranks)

    @property
    def waited_share(self) -> float:
        """Share of its time that a rank waited for data, averaged over the ranks."""
        return sum(rank.waited_s / rank.total_s for rank in self.ranks) / len(self.ranks)

    @property
    def first_batch_s(self) -> float:
        """Delay of the first batch on the slowest rank."""
        return max(rank.first_batch_s for rank in self.ranks)

    @property
    def accuracy(self) -> float:
        """Share of right answers in the last epoch, averaged over the ranks."""
        return sum(rank.accuracy for rank in self.ranks) / len(self.ranks)
