"""The grid: cases drawn once, by a fixed seed, from the product of all that may bear on an order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tests.simulated_job import Job

NUM_CASES = 2_100

SHARDS: Mapping[str, tuple[int, ...]] = {
    "no sample in two shards": (0, 0),
    "one sample": (1,),
    "rows 3 to 8": (3, 4, 5, 6, 7, 8),
    "two shards": (5, 5),
    "one large": (41, 1, 1, 1),
    "with empty shards": (0, 7, 0, 0, 11, 3, 0),
    "a prime in tens": (10, 10, 10, 10, 10, 9),
    "a multiple": (12, 12, 12, 12),
    "many tiny": (1, 2) * 9,
}
"""Samples of each shard, by name."""

NUMBERS = (0, 1, 3, 24, 31, 48)
"""Lengths of the map-style datasets."""

FOLDERS = (1, 5, 24, 37)
"""Files of the image folders."""

KINDS = (
    *(("shards", name) for name in SHARDS),
    *(("numbers", num) for num in NUMBERS),
    *(("folder", num) for num in FOLDERS),
)

TAILS = (None, "drop", "pad", "keep", "drop_last")

VALUES: Mapping[str, tuple[Any, ...]] = {
    "dataset": KINDS,
    "world_size": (1,) * 5 + (2,) * 5 + (3,) * 4 + (4,) * 4 + (5, 6, 7, 8, 8, 12, 16),
    "num_nodes": (1, 2, 3, 4),
    "batch_size": (1, 2, 3, 4, 5, 8),
    "accumulate": (1, 1, 2, 3),
    "num_workers": (0,) * 12 + (1, 1, 2, 2),
    "tail": TAILS,
    "shuffle": (False, True, "full", "window", "window"),
    "window_samples": (None, 1, 6, 1000),
    "canonical_nodes": (None, 1, 2, 3, 3, 4),
    "epoch": (0, 1, 6, 10**6),
    "seed": (0, 7, 2**64 - 1),
}
"""What each dimension may be; what stands there more than once is drawn more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One point of the grid, and another split of the same global batch to resume on."""

    dataset: tuple[str, Any]
    world_size: int
    num_nodes: int
    batch_size: int
    accumulate: int
    num_workers: int
    tail: str | None
    shuffle: Any
    window_samples: int | None
    canonical_nodes: int | None
    epoch: int
    seed: int
    cut: float
    """Where the run is cut, as a part of its steps."""
    other: tuple[int, int, int]
    """Ranks, batch size and accumulated batches after the cut."""
    other_nodes: int

    @property
    def asked_tail(self) -> str | None:
        return "drop" if self.tail == "drop_last" else self.tail

    @property
    def nodes_of_order(self) -> int:
        """Canonical nodes, asked for or by default the number of nodes where that divides the global batch."""
        if not in_windows(self.dataset, self.shuffle):
            return 1
        if self.canonical_nodes is not None:
            return self.canonical_nodes
        batch = self.world_size * self.batch_size * self.accumulate
        return max(nodes for nodes in range(1, self.num_nodes + 1) if batch % nodes == 0)

    def order_options(self) -> dict[str, Any]:
        """Arguments that say the order, whatever splits it."""
        return {
            "shuffle": self.shuffle,
            "window_samples": self.window_samples,
            "seed": self.seed,
            "canonical_nodes": self.nodes_of_order if in_windows(self.dataset, self.shuffle) else None,
        }

    def _options(self) -> dict[str, Any]:
        tail = {"drop_last": True} if self.tail == "drop_last" else {"tail": self.tail}
        return self.order_options() | tail | {"canonical_nodes": self.canonical_nodes}

    def job(self) -> Job:
        """The job of the case."""
        return Job(
            world_size=self.world_size,
            batch_size=self.batch_size,
            accumulate=self.accumulate,
            num_nodes=self.num_nodes,
            options=self._options() | {"num_workers": self.num_workers},
        )

    def job_after(self) -> Job:
        """The job that goes on from its state."""
        world_size, batch_size, accumulate = self.other
        return Job(
            world_size=world_size,
            batch_size=batch_size,
            accumulate=accumulate,
            num_nodes=self.other_nodes,
            options=self._options() | {"num_workers": 0},
        )


def in_windows(dataset: tuple[str, Any], shuffle: Any) -> bool:
    """Whether this order is shuffled in windows."""
    return shuffle == "window" or (shuffle is True and dataset[0] == "shards")


def splits(global_batch: int, most_ranks: int = 16) -> list[tuple[int, int, int]]:
    """All (ranks, batch size, accumulated batches) that make a global batch."""
    return [
        (ranks, rows, global_batch // ranks // rows)
        for ranks in range(1, min(global_batch, most_ranks) + 1)
        if global_batch % ranks == 0
        for rows in range(1, global_batch // ranks + 1)
        if global_batch // ranks % rows == 0
    ]


def draw_case(source: random.Random) -> Case:
    """One case; what has no meaning beside the rest is left out of it."""
    while True:
        values = {name: source.choice(choices) for name, choices in VALUES.items()}
        batch = values["world_size"] * values["batch_size"] * values["accumulate"]
        if not in_windows(values["dataset"], values["shuffle"]):
            values["canonical_nodes"] = values["window_samples"] = None
        if batch % (values["canonical_nodes"] or 1) == 0:
            break
    values["num_nodes"] = min(values["num_nodes"], values["world_size"])
    other = source.choice(splits(batch))
    return Case(**values, cut=source.random(), other=other, other_nodes=source.randint(1, min(4, other[0])))


def draw_cases() -> list[Case]:
    """All cases, no two alike."""
    source = random.Random(2026)
    cases: dict[Case, None] = {}
    while len(cases) < NUM_CASES:
        cases[draw_case(source)] = None
    return list(cases)


def missing_pairs(cases: list[Case]) -> list[tuple[str, Any, str, Any]]:
    """Pairs of values of two dimensions that have a meaning together but stand in no case."""
    names = [field.name for field in fields(Case) if field.name in VALUES]
    seen = {(a, getattr(case, a), b, getattr(case, b)) for case in cases for a in names for b in names if a < b}
    wanted = {(a, x, b, y) for a in names for b in names if a < b for x in set(VALUES[a]) for y in set(VALUES[b])}
    return sorted((pair for pair in wanted - seen if is_possible(*pair)), key=repr)


def is_possible(name: str, value: Any, other: str, other_value: Any) -> bool:
    """Whether two values have a meaning together; `name` comes before `other` in the alphabet."""
    pair = {name: value, other: other_value}
    if "num_nodes" in pair and "world_size" in pair:
        return pair["num_nodes"] <= pair["world_size"]
    windowed = pair.get("canonical_nodes") is not None or pair.get("window_samples") is not None
    if windowed and "shuffle" in pair:
        return pair["shuffle"] in (True, "window")
    return True
