"""Where a run stands in its order, as a value that is saved and loaded.

A position counts samples, not steps, so that it means the same on any number of ranks: with C canonical nodes, each
sequence has delivered `samples_delivered` / C of its positions, whatever the batches were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from headrace.contracts import Shuffle, Tail
from headrace.order.epoch import EpochOrder
from headrace.order.state_values import (
    COUNT,
    POSITIVE,
    TEXT,
    Accepted,
    check_same,
    damaged,
    is_count,
    read_values,
    write_values,
)

OnBatchChange: TypeAlias = Literal["refuse", "continue"]
"""What happens to a state that was saved with another global batch."""

SAME_DATASET = ("num_samples", "num_shards", "fingerprint")
"""Fields that tell datasets apart, the most telling first."""

SAME_ORDER = ("seed", "shuffle", "window_samples", "canonical_nodes", "tail")
"""Fields that must not change inside a run."""

INSIDE_STEP = ("global_batch", "batch_size", "world_size")
"""Fields that must not change between the batches of one global step."""

REMEDIES = {
    "num_samples": "Load the state with the dataset that it was saved with",
    "num_shards": "Load the state with the list of shards that it was saved with",
    "fingerprint": "Load the state with the dataset that it was saved with, its shards in the same order",
    "seed": "Make the loader with seed={saved}",
    "shuffle": "Make the loader with shuffle={saved!r}",
    "window_samples": "Make the loader with window_samples={saved}",
    "canonical_nodes": "Make the loader with canonical_nodes={saved}",
    "tail": "Make the loader with tail={saved!r}",
    "global_batch": "Keep batch_size x ranks x accumulate at {saved}, or pass on_batch_change='continue' to deliver "
    "the rest of the epoch in the new batches",
}

REMEDY_INSIDE_STEP = (
    "The state was saved between the batches of one global step: keep {name}={saved}, or save after a whole number "
    "of global steps"
)


def one_of(*choices: str | None) -> Accepted:
    """One of some strings, or None."""
    names = ", ".join(map(repr, choices))
    return Accepted(f"one of {names}", lambda value: (value is None or isinstance(value, str)) and value in choices)


SPECIAL: Mapping[str, Accepted] = {
    "fingerprint": TEXT,
    "shuffle": one_of(*get_args(Shuffle)),
    "tail": one_of(*get_args(Tail), None),
    "sources": Accepted(
        "a list of counts", lambda value: isinstance(value, list | tuple) and all(map(is_count, value))
    ),
    **dict.fromkeys(("global_batch", "batch_size", "world_size", "canonical_nodes"), POSITIVE),
}
"""What the fields hold that are no counts from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderState:
    """A position in an order, and all that must be the same for it to mean anything."""

    fingerprint: str
    """Of the dataset."""
    num_samples: int
    num_shards: int
    seed: int
    shuffle: Shuffle
    window_samples: int
    """Least number of samples in a window; 0 outside of window mode."""
    canonical_nodes: int
    tail: Tail | None
    """As it was asked for: None is decided anew by the number of ranks."""
    global_batch: int
    batch_size: int
    """Rows of a batch on one rank; matters only inside a global step, as the next."""
    world_size: int
    epoch: int
    """Epoch that the next batch belongs to."""
    samples_delivered: int
    """Samples of that epoch delivered in whole global steps, over all ranks."""
    rank_batches: int = 0
    """Batches that each rank delivered of the global step after them; 0 unless batches are accumulated."""
    sources: tuple[int, ...] = ()
    """Position in each source of a mixed dataset."""

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON-serialisable values, under 1 KB unless there are dozens of sources."""
        return write_values("order", {**asdict(self), "sources": list(self.sources)})

    @staticmethod
    def from_dict(state: Mapping[str, Any]) -> OrderState:
        """The state that `to_dict` wrote.

        Raises:
            OrderError: Another kind or a newer format, or a field that is missing, unknown or holds what it cannot.
        """
        accepted = {field.name: SPECIAL.get(field.name, COUNT) for field in fields(OrderState)}
        values = read_values("order", state, accepted)
        saved = OrderState(**{**values, "sources": tuple(values["sources"])})
        saved.check_batches()
        return saved

    def check_batches(self) -> None:
        """The batches of all ranks make whole global steps.

        Raises:
            OrderError: They do not, or more of them are delivered than make one.
        """
        accumulate, left = divmod(self.global_batch, self.batch_size * self.world_size)
        if left or self.rank_batches >= accumulate:
            raise damaged(
                "its batches make no global step",
                got=f"global_batch={self.global_batch}, batch_size={self.batch_size}, world_size={self.world_size}, "
                f"rank_batches={self.rank_batches}",
                accepted="batch_size x world_size x accumulate = global_batch, and rank_batches below accumulate",
            )


def state_at(
    order: EpochOrder, batches: int, *, fingerprint: str, tail: Tail | None, sources: tuple[int, ...] = ()
) -> OrderState:
    """The state of a rank that has delivered `batches` batches of an epoch since it was opened.

    Args:
        order: The epoch.
        batches: 0 to `order.num_steps`.
        fingerprint: Of the dataset.
        tail: The tail as the user asked for it.
        sources: Position in each source of a mixed dataset.
    """
    spec = order.spec
    steps, rank_batches = divmod(batches, spec.accumulate)
    if batches == order.num_steps:
        steps, rank_batches = order.num_global_steps, 0
    return OrderState(
        fingerprint=fingerprint,
        num_samples=spec.num_samples,
        num_shards=len(spec.layout.samples),
        seed=spec.seed,
        shuffle=spec.shuffle,
        window_samples=spec.least_window_samples if spec.shuffle == "window" else 0,
        canonical_nodes=spec.canonical_nodes,
        tail=tail,
        global_batch=spec.global_batch,
        batch_size=spec.batch_size,
        world_size=spec.world_size,
        epoch=order.epoch,
        samples_delivered=min(order.start + steps * spec.global_batch, spec.num_samples),
        rank_batches=rank_batches,
        sources=sources,
    )


def check_compatible(saved: OrderState, current: OrderState, on_batch_change: OnBatchChange = "refuse") -> None:
    """Checks that a saved state can be continued by a loader whose own state, at any position, is `current`.

    Raises:
        OrderError: Another dataset, another order or another global batch; the field and both values are named.
    """
    for name in (*SAME_DATASET, *SAME_ORDER):
        _check_field(name, saved, current, REMEDIES[name])
    if len(saved.sources) != len(current.sources):
        check_same("number of sources", len(saved.sources), len(current.sources), REMEDIES["fingerprint"])
    if saved.rank_batches:
        for name in INSIDE_STEP:
            _check_field(name, saved, current, REMEDY_INSIDE_STEP)
    elif on_batch_change == "refuse":
        _check_field("global_batch", saved, current, REMEDIES["global_batch"])


def _check_field(name: str, saved: OrderState, current: OrderState, remedy: str) -> None:
    value = getattr(saved, name)
    # The mode "none" is asked for by shuffle=False.
    argument = False if name == "shuffle" and value == "none" else value
    check_same(name, value, getattr(current, name), remedy.format(name=name, saved=argument))
