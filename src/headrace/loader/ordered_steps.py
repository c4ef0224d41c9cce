"""Steps of our own order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.contracts import Step, Tail
from headrace.errors import OrderError
from headrace.loader.identity import Identity
from headrace.loader.place import Place
from headrace.order import (
    EpochOrder,
    OnBatchChange,
    OrderSpec,
    OrderState,
    Topology,
    check_compatible,
    open_epoch,
    state_at,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuity:
    """What a run may change when it goes on from a state."""

    identity: Identity
    """Of the dataset."""
    tail: Tail | None
    """As the user asked for it."""
    adopts_nodes: bool
    """Whether the canonical nodes of the first start are taken over from a state: the user named no number."""
    on_batch_change: OnBatchChange


class OrderedSteps:
    """Steps of our own order, the same number on every rank.

    Args:
        spec: The order.
        topology: This rank.
        continuity: What a state must agree with.
    """

    can_be_foreseen = True

    def __init__(self, spec: OrderSpec, topology: Topology, continuity: Continuity) -> None:
        self.spec = spec
        self.topology = topology
        self.continuity = continuity
        self.opened: tuple[tuple[int, int], EpochOrder] | None = None

    def num_steps(self, epoch: int) -> int:
        """Batches of a whole epoch, the same on every rank."""
        return self._open(Place(epoch=epoch)).num_steps

    def num_left(self, place: Place) -> int:
        """Batches after a place."""
        return self._open(place).num_steps - place.batches

    def num_done(self, place: Place) -> int:
        """Batches before a place, as if all had the present size."""
        return self.num_steps(place.epoch) - self.num_left(place)

    def steps(self, place: Place) -> Iterator[Step]:
        """Steps after a place."""
        order = self._open(place)
        return (order.step(index, self.topology.rank) for index in range(place.batches, order.num_steps))

    def state(self, place: Place) -> dict[str, Any]:
        """The state of a rank at a place, under 1 KB."""
        return self._state(place).to_dict()

    def facts(self, place: Place) -> Mapping[str, Any]:
        """All of the state."""
        return self.state(place)

    def restore(self, state: Mapping[str, Any]) -> tuple[OrderedSteps, Place]:
        """The steps that go on from a state, and the place in them.

        Raises:
            OrderError: The state belongs to another dataset, order or global batch, or is damaged.
        """
        saved = OrderState.from_dict(state)
        spec = self.spec
        own = self._state(Place())
        if self.continuity.adopts_nodes and saved.shuffle == spec.shuffle == "window":
            own = replace(own, canonical_nodes=saved.canonical_nodes)
        check_compatible(saved, own, self.continuity.on_batch_change)
        _check_nodes(own.canonical_nodes, spec.global_batch)
        steps = self._with(replace(spec, canonical_nodes=own.canonical_nodes))
        return steps, steps.place_of(saved)

    def resized(self, place: Place, batch_size: int) -> tuple[OrderedSteps, Place]:
        """The steps in batches of another size, and the same place in them.

        Raises:
            OrderError: The place lies between accumulated batches, or the canonical nodes do not divide the new batch.
        """
        state = self._state(place)
        if state.rank_batches:
            raise OrderError(
                "The batch size cannot change between the accumulated batches of one step",
                got=f"{state.rank_batches} of {self.spec.accumulate} batches delivered",
                accepted="a whole number of accumulated steps",
                rank=self.topology.rank,
            )
        steps = self._with(replace(self.spec, batch_size=batch_size))
        return steps, steps.place_of(state)

    def _with(self, spec: OrderSpec) -> OrderedSteps:
        return OrderedSteps(spec, self.topology, self.continuity)

    def _state(self, place: Place) -> OrderState:
        order = self._open(place)
        fingerprint = self.continuity.identity.fingerprint
        return state_at(order, place.batches, fingerprint=fingerprint, tail=self.continuity.tail)

    def place_of(self, saved: OrderState) -> Place:
        """A place in batches of the present size: counted from the start of the epoch wherever that is possible."""
        spec, delivered = self.spec, saved.samples_delivered
        between = delivered % spec.canonical_nodes != 0 and delivered != spec.num_samples
        if delivered > spec.num_samples or between:
            raise _nowhere(saved, spec)
        full, rest = divmod(delivered, spec.global_batch)
        # All samples may be delivered although present batches would have dropped some: that is no multiple of theirs.
        start, batches = (delivered, 0) if rest else (0, full * spec.accumulate)
        place = Place(epoch=saved.epoch, start=start, batches=batches + saved.rank_batches)
        if self.num_left(place) < 0:
            raise _nowhere(saved, spec)
        return place

    def _open(self, place: Place) -> EpochOrder:
        """The order of an epoch; the last one asked for stays open."""
        key = (place.epoch, place.start)
        opened = self.opened
        if opened is None or opened[0] != key:
            opened = self.opened = (key, open_epoch(self.spec, *key))
        return opened[1]


def _check_nodes(canonical_nodes: int, global_batch: int) -> None:
    """Batches of another size have to hold as many rows of each canonical node."""
    if global_batch % canonical_nodes:
        raise OrderError(
            "The state does not fit this loader: its canonical_nodes do not divide the global batch",
            got=f"canonical_nodes={canonical_nodes} in the state, a global batch of {global_batch} here",
            accepted=f"batch_size x ranks x accumulate that {canonical_nodes} divides",
            remedy="Choose such a batch_size; the canonical nodes of a run stay those of its first start",
        )


def _nowhere(saved: OrderState, spec: OrderSpec) -> OrderError:
    """The error of a position that no run can have: the state is damaged."""
    return OrderError(
        "The state is damaged: no run stands there",
        got=f"samples_delivered={saved.samples_delivered}, rank_batches={saved.rank_batches}",
        accepted=f"samples_delivered from 0 to {spec.num_samples}, a multiple of canonical_nodes="
        f"{spec.canonical_nodes} or the end, and rank_batches that the step after them has",
        remedy="Load a state as state_dict() gave it",
    )
