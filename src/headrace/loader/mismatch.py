"""Says in which facts the ranks of a job differ, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import RankMismatchError

DATASET = (
    "Give every rank the whole dataset, its shards in the same order (the loader splits it over the ranks), and make "
    "loaders in the same order everywhere. What one rank iterates alone needs topology=headrace.Topology()"
)
ARGUMENTS = "Make the loader with the same arguments on every rank"
STATE = "Load the same state on every rank, or none on any"

REMEDIES = {
    "num_samples": DATASET,
    "num_shards": DATASET,
    "fingerprint": DATASET,
    "seed": "Give every rank the same seed: samples are augmented differently whatever rank they are on",
    "epoch": "Open epochs on all ranks together: a batch is looked at with peek(), which moves nothing, and a loader "
    "that one rank iterates alone needs topology=headrace.Topology()",
    "samples_delivered": STATE,
    "rank_batches": STATE,
}
"""Field -> what to do, the most telling field first; for any other field, `ARGUMENTS`."""


def mismatch(facts: Mapping[int, Mapping[str, Any]], rank: int) -> RankMismatchError:
    """The error that names every field in which ranks differ, and each rank's value.

    Args:
        facts: Rank -> field -> value.
        rank: Of this process.
    """
    names = dict.fromkeys(name for one in facts.values() for name in one)
    differing = [name for name in names if len(set(_by_value(facts, name))) > 1]
    differing.sort(key=lambda name: list(REMEDIES).index(name) if name in REMEDIES else len(REMEDIES))
    told = [
        f"{name}: " + ", ".join(f"{value} ({_ranks(found)})" for value, found in _by_value(facts, name).items())
        for name in differing
    ]
    return RankMismatchError(
        f"The ranks disagree about the epoch that they open: {', '.join(differing) or 'some have opened it alone'}",
        got="; ".join(told) or None,
        accepted="the same values on every rank",
        remedy=REMEDIES.get(differing[0] if differing else "epoch", ARGUMENTS),
        rank=rank,
    )


def _by_value(facts: Mapping[int, Mapping[str, Any]], name: str) -> dict[str, list[int]]:
    """Value of a field, as text -> ranks that have it."""
    found: dict[str, list[int]] = {}
    for rank, one in facts.items():
        found.setdefault(repr(one.get(name)), []).append(rank)
    return found


def _ranks(ranks: list[int]) -> str:
    """`rank 3`, or `ranks 0-2, 5`."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"rank{'s' if len(ranks) > 1 else ''} {text}"
