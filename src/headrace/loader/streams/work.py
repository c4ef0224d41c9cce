"""The work of a step that belongs to a stream: the next samples of that stream, put together."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from headrace.contracts import Allocate, Recorder, Step
from headrace.datasets.collate_rules import parse_rules
from headrace.datasets.collate_samples import collate_samples
from headrace.loader.batch_transform import BatchTransform
from headrace.loader.extras import append_extras
from headrace.loader.made import BatchSizes, Made, tensor_bytes
from headrace.loader.one_sample import collation_of
from headrace.loader.options import LoaderOptions
from headrace.loader.pinning import pin
from headrace.loader.streams.open_stream import OpenStream
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.sources import StreamSource
from headrace.loader.streams.turns import Read, Turn


class StreamWork:
    """Reads streams. The turns of one stream must come in their order, those of different ones may come at once.

    Args:
        source: Gives what is read.
        plan: The streams of the rank.
        options: Say how samples are put together.
        recorder: Gets the stages "dataset" and "collate".
        sizes: Learns what a row weighs.
        pins: Whether batches are page-locked here.
        batch_transform: What is done to whole batches.
    """

    def __init__(
        self,
        source: StreamSource,
        plan: StreamPlan,
        options: LoaderOptions,
        recorder: Recorder,
        sizes: BatchSizes,
        *,
        pins: bool,
        batch_transform: BatchTransform | None = None,
    ) -> None:
        self.source = source
        self.plan = plan
        self.options = options
        self.recorder = recorder
        self.sizes = sizes
        self.pins = pins
        self.batch_transform = batch_transform
        self.rules = parse_rules(options.collate)
        self.put_together = collation_of(options)
        self.open: dict[int, tuple[tuple[int, bool], OpenStream]] = {}
        """Stream -> the run that reads it and whether that only pads, and the stream itself."""

    def size_bytes(self, step: Step) -> int | None:
        """Estimate from the largest row seen so far."""
        return self.sizes.estimate(step)

    def fetch(self, step: Step, allocate: Allocate) -> None:
        """Nothing: the dataset reads for itself."""

    def run(self, step: Step, fetched: None, allocate: Allocate) -> Read:
        """The next batch of the stream whose turn it is."""
        turn: Turn = step.task
        started = perf_counter()
        stream = self._stream(turn, step.epoch)
        samples = stream.read()
        if not samples and turn.pads:
            self.open.pop(turn.stream)
            stream = self._stream(turn, step.epoch)
            samples = stream.read()
        self.recorder.add("dataset", perf_counter() - started, items=len(samples))
        made = self._made(samples, step, allocate, pads=turn.pads) if self._is_a_batch(samples) else None
        beginning = stream.beginning.see(samples, ended=stream.ended) if stream.beginning is not None else None
        return Read(
            made=made,
            num_samples=len(samples) if made is not None else 0,
            num_left_out=len(samples) if made is None else 0,
            ended=stream.ended or made is None,
            state=stream.state() if made is not None else None,
            beginning=beginning,
        )

    def release(self) -> None:
        """Closes all streams, once nobody wants more of them."""
        self.open = {}

    def _stream(self, turn: Turn, epoch: int) -> OpenStream:
        """The stream of a turn, opened where this is its first one."""
        owner = turn.run, turn.pads
        held = self.open.get(turn.stream)
        if held is not None and held[0] == owner:
            return held[1]
        if held is not None:
            del held, self.open[turn.stream]
        opening = turn.opening
        if opening is None:
            raise RuntimeError(f"stream {turn.stream} was not opened")
        part = self.source.part(turn.stream, epoch, opening.dataset)
        stream = OpenStream(part, self.plan, turn.stream, epoch, opening)
        self.open[turn.stream] = owner, stream
        return stream

    def _is_a_batch(self, samples: list[Any]) -> bool:
        """Whether these samples are delivered: no samples are none, and some are too few with `drop_last`."""
        enough = self.plan.batch_size if self.plan.drop_last and self.plan.batch_size else 1
        return len(samples) >= enough

    def _made(self, samples: list[Any], step: Step, allocate: Allocate, *, pads: bool) -> Made:
        started = perf_counter()
        valid = np.full(len(samples), not pads)
        batch = self._collate(samples, allocate)
        self.recorder.add("collate", perf_counter() - started, items=len(samples))
        if self.batch_transform is not None:
            batch = self.batch_transform(batch, step, self.recorder)
        self.sizes.saw(tensor_bytes(batch), len(samples))
        batch = append_extras(batch, self.options, step, valid)
        return Made(batch=pin(batch) if self.pins else batch, valid=valid)

    def _collate(self, samples: list[Any], allocate: Allocate) -> Any:
        if self.put_together is not None:
            return self.put_together(samples)
        return collate_samples(samples, self.rules, allocate)
