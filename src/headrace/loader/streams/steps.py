"""Steps of streams: whose turn it is, as long as there is something to read."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from headrace._base.units import count
from headrace.contracts import Step
from headrace.errors import OptionError, OrderError
from headrace.loader.place import Place
from headrace.loader.streams.ledger import Ledger, Standing, first_standing, lasting
from headrace.loader.streams.lengths import Lengths
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.snapshot import Snapshot
from headrace.loader.streams.turns import Opening, Turn
from headrace.order import StreamPlace, StreamsState

RUNS = itertools.count()
"""Numbers the iterations of this process."""


class StreamIteration(Iterator[Step]):
    """The steps of one iteration.

    Streams take turns; one that has ended is left out. Which has is known only when the consumer has come there, and
    steps are pulled ahead of him: those that were pulled for an ended stream bring nothing, and are passed over. So the
    order of the batches is that of (batch of its stream, stream), whatever was pulled when.

    Args:
        plan: The streams of the rank.
        standing: Where they stand.
        even_steps: Steps that all ranks make, where that is known.
        looks: Whether the streams are to tell what they begin with.
    """

    def __init__(self, plan: StreamPlan, standing: Standing, even_steps: int | None, *, looks: bool) -> None:
        self.plan = plan
        self.begun = standing
        self.ledger = Ledger(standing)
        self.even_steps = even_steps
        self.looks = looks
        self.dataset: Snapshot | None = None
        self.run = next(RUNS)
        self.asked = [0] * plan.num_streams
        self.turn = standing.turn
        self.num_padding = standing.padding

    def __next__(self) -> Step:
        ended = tuple(self.ledger.ended)  # the consumer goes on meanwhile
        if all(ended):
            return self._padding()
        stream = self.turn
        while ended[stream]:
            stream = (stream + 1) % self.plan.num_streams
        self.turn = (stream + 1) % self.plan.num_streams
        place, number = self.begun.streams[stream], self.asked[stream]
        opening = None
        if number == 0:
            opening = Opening(place=place, dataset=self.dataset, looks=self.looks and not place.samples)
        size = self.plan.batch_size or 1
        # Not counted by steps: how many bring nothing depends on how far they are pulled ahead, and draws go by it.
        index = (place.batches + number) * self.plan.num_streams + stream
        return self._step(stream, index, first=place.samples + number * size, pads=False, opening=opening)

    def _padding(self) -> Step:
        """A step that other ranks make too, when all streams have come to their end."""
        standing = self.ledger.standing
        index = standing.place.batches + self.num_padding - standing.padding
        if self.even_steps is None or index >= self.even_steps:
            raise StopIteration
        stream = lasting(standing.streams)
        if stream is None:
            raise OrderError(
                "this rank has no sample to repeat for the steps that others make",
                got=f"no sample on rank {self.plan.rank}, {count(self.even_steps, 'step')} on others",
                accepted="samples on every rank",
                remedy='Use fewer ranks or workers, or tail="drop"',
            )
        self.num_padding += 1
        opening = Opening(place=StreamPlace(), dataset=self.dataset, looks=False)
        return self._step(stream, index, first=0, pads=True, opening=opening)

    def _step(self, stream: int, index: int, *, first: int, pads: bool, opening: Opening | None) -> Step:
        turn = Turn(run=self.run, stream=stream, number=self.asked[stream], pads=pads, opening=opening)
        self.asked[stream] += 1
        size = self.plan.batch_size or 1
        return Step(
            index=index,
            epoch=self.begun.epoch,
            ids=np.arange(first, first + size, dtype=np.int64),
            valid=np.full(size, not pads),
            worker=stream,
            task=turn,
        )


class StreamSteps:
    """Where the streams of a rank stand, and the steps from there.

    Args:
        plan: The streams of the rank.
        lengths: What the dataset says of its length.
        fingerprint: Of the dataset.
        loaded: Where a loaded state stands.
    """

    can_be_foreseen = False

    def __init__(self, plan: StreamPlan, lengths: Lengths, fingerprint: str, loaded: Standing | None = None) -> None:
        self.plan = plan
        self.lengths = lengths
        self.fingerprint = fingerprint
        self.loaded = loaded
        self.current: StreamIteration | None = None
        self.told_length = False
        """Whether somebody has asked for the length, and may rely on it."""

    def num_steps(self, epoch: int) -> int:
        """Batches of a whole epoch on this rank, by the length that the dataset tells.

        Raises:
            TypeError: It has no `__len__`.
        """
        num = self.lengths.num_steps()
        self.told_length = True
        return num

    def num_left(self, place: Place) -> int:
        """Batches after a place, by that length; none where there were more."""
        return max(0, self.num_steps(place.epoch) - place.batches)

    def num_done(self, place: Place) -> int:
        """Batches before a place."""
        return place.batches

    def steps(self, place: Place) -> StreamIteration:
        """Steps after a place. What is delivered of them is booked."""
        looks = self.current is None and not self.plan.splits and self.plan.num_parts > 1
        self.current = StreamIteration(self.plan, self._standing(place), self.lengths.even_steps(), looks=looks)
        return self.current

    def state(self, place: Place) -> dict[str, Any]:
        """Where each stream stands.

        Raises:
            OrderError: The dataset's own state is none that JSON can hold.
        """
        state = self._state(self._standing(place)).to_dict()
        try:
            json.dumps(state)
        except (TypeError, ValueError, RecursionError) as error:
            raise OrderError(
                "the state_dict() of the dataset gives something that JSON cannot hold",
                got=str(error),
                accepted="dicts with keys of text, lists, texts, numbers, True, False and None",
                remedy="Bring arrays and objects into such a form there, and back in load_state_dict()",
                rank=self.plan.rank,
            ) from error
        return state

    def facts(self, place: Place) -> dict[str, Any]:
        """What does not depend on how far each rank has come."""
        state = self._state(self._standing(place))
        names = ("fingerprint", "seed", "world_size", "num_streams", "batch_size", "drop_last", "epoch")
        return {name: getattr(state, name) for name in names}

    def restore(self, state: Mapping[str, Any]) -> tuple[StreamSteps, Place]:
        """The steps that go on from a state, and the place in them.

        Raises:
            OrderError: The state belongs to another dataset, rank, or number of streams, or is damaged.
        """
        saved = StreamsState.from_dict(state)
        saved.check_same_run(self._state(first_standing(0, self.plan.num_streams)))
        streams = saved.streams or first_standing(saved.epoch, self.plan.num_streams).streams
        standing = Standing(epoch=saved.epoch, turn=saved.turn, padding=saved.padding, streams=streams)
        return StreamSteps(self.plan, self.lengths, self.fingerprint, standing), standing.place

    def resized(self, place: Place, batch_size: int) -> tuple[StreamSteps, Place]:
        """Refused.

        Raises:
            OptionError: Always.
        """
        raise OptionError(
            "set_batch_size() cannot change the batches of a dataset that is iterated over",
            remedy="Make another loader for the next epoch",
        )

    def _standing(self, place: Place) -> Standing:
        """Where all streams stand at a place: at the beginning, where a state was loaded, or where the reading is."""
        current = self.current.ledger.standing if self.current is not None else None
        for standing in (current, self.loaded):
            if standing is not None and not place.is_beginning and standing.place == place:
                return standing
        if not place.is_beginning:
            raise RuntimeError(f"no stream has stood at {place}")
        return first_standing(place.epoch, self.plan.num_streams)

    def _state(self, standing: Standing) -> StreamsState:
        plan, place = self.plan, standing.place
        return StreamsState(
            fingerprint=self.fingerprint,
            seed=plan.seed,
            world_size=plan.world_size,
            rank=plan.rank,
            num_streams=plan.num_streams,
            batch_size=plan.batch_size or 0,
            drop_last=plan.drop_last,
            epoch=standing.epoch,
            batches_delivered=place.batches,
            turn=standing.turn,
            padding=standing.padding,
            streams=() if place.is_beginning else standing.streams,
        )
