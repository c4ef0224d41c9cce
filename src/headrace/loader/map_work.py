"""The work of a step for a map-style dataset that only Python knows: its items, then `collate_fn`.

Each item is made with `headrace.rng()` keyed by its sample; where the dataset makes all items of a batch in one call
(`__getitems__`), by the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from torch.utils.data import Subset

from headrace._base.hashing import sample_keys
from headrace._base.headroom import MemoryGuard
from headrace.contracts import Allocate, Recorder, Step
from headrace.datasets.collate_rules import parse_rules
from headrace.datasets.collate_samples import collate_samples, gives_one_value
from headrace.datasets.good_rows import repeat_good_rows
from headrace.errors import SampleError
from headrace.loader.batch_transform import BatchTransform
from headrace.loader.extras import append_extras
from headrace.loader.made import BatchSizes, Made, tensor_bytes
from headrace.loader.one_sample import collation_of
from headrace.loader.options import LoaderOptions
from headrace.loader.pinning import pin
from headrace.loader.weighing import Weighing
from headrace.recipes.randomness import RowsRandomness, sample_randomness

COPIES = 2
"""How often a batch is there while it is made: as samples, and as the batch that they are put together to."""

MOST_TRIES = 64
"""Samples that are tried in the place of a batch without a good row, before its fault is raised after all."""


class MapWork:
    """Items of the dataset, made on a worker. Exceptions keep their type and carry a note that names the sample."""

    def __init__(
        self,
        dataset: Any,
        options: LoaderOptions,
        recorder: Recorder,
        sizes: BatchSizes,
        *,
        pins: bool,
        batch_transform: BatchTransform | None = None,
    ) -> None:
        self.dataset = dataset
        self.options = options
        self.recorder = recorder
        self.sizes = sizes
        self.pins = pins
        self.batch_transform = batch_transform
        self.rules = parse_rules(options.collate)
        self.put_together = collation_of(options)
        self.at_once = options.is_batched and makes_batches(dataset)
        self.guard = MemoryGuard()

    def size_bytes(self, step: Step) -> int | None:
        """Estimate from the largest row seen so far: the samples, and the batch that they are put together to."""
        batch_bytes = self.sizes.estimate(step)
        return None if batch_bytes is None else COPIES * batch_bytes

    def is_prompt(self) -> bool:
        """Whether fetching waits for nothing: not said, since samplers of the user may be slow."""
        return False

    def fetch(self, step: Step, allocate: Allocate) -> None:
        """Nothing: the dataset reads for itself."""

    def run(self, step: Step, fetched: None, allocate: Allocate) -> Made:
        """The batch of the step."""
        started = perf_counter()
        samples, bad = self._samples(step)
        self.recorder.add("dataset", perf_counter() - started, items=len(step.ids))
        valid = step.valid.copy()
        valid[bad] = False
        started = perf_counter()
        if bad:
            samples = repeat_good_rows(samples, bad, sorted(set(range(len(samples))).difference(bad)))
        collated = batch = self._collate(samples, allocate)
        self.recorder.add("collate", perf_counter() - started, items=len(step.ids))
        if self.batch_transform is not None:
            batch = self.batch_transform(batch, step, self.recorder)
        self.sizes.saw(tensor_bytes(batch), len(step.ids))
        one_value = batch is collated and self.put_together is None and gives_one_value(samples[0], self.rules, None)
        batch = append_extras(batch, self.options, step, valid, one_value=one_value)
        return Made(batch=pin(batch) if self.pins else batch, valid=valid)

    def _collate(self, samples: Any, allocate: Allocate) -> Any:
        if self.put_together is not None:
            return self.put_together(samples)
        return collate_samples(samples, self.rules, allocate)

    def _samples(self, step: Step) -> tuple[Any, list[int]]:
        """The samples of a step, and the rows that failed where those are to be skipped."""
        wanted = step.ids.tolist() if step.keys is None else step.keys
        if self.at_once:
            return self._samples_at_once(wanted, self._draw_keys(step)[0]), []
        samples: list[Any] = []
        failed: list[tuple[int, Exception]] = []
        weighing = Weighing(len(wanted), self.guard)
        with RowsRandomness(lambda: self._draw_keys(step), samples) as randomness:
            keys = randomness.along(wanted)
            while len(samples) < len(wanted):
                try:
                    self._go_on(islice(keys, max(1, len(samples))), samples)
                except (Exception, SystemExit) as error:
                    error.add_note(self._note(wanted[len(samples)]))
                    if self.options.on_error == "raise" or isinstance(error, SystemExit) or not is_of_content(error):
                        raise
                    failed.append((len(samples), error))
                    samples.append(None)
                weighing.look(samples)
        if failed:
            self.recorder.count("skipped_samples", len(failed))
        if failed and len(failed) == len(samples):
            samples = [self._stand_in(step, failed[0][1])] * len(samples)
        return samples, [row for row, _ in failed]

    def _go_on(self, keys: Iterator[Any], samples: list[Any]) -> None:
        """Makes samples until one fails: a row costs what the dataset takes for it, and an `append`.

        As many at a time as there are already: what they weigh is looked at in between, a few times a batch.
        """
        dataset, add = self.dataset, samples.append
        for key in keys:
            add(dataset[key])

    def _draw_keys(self, step: Step) -> list[int]:
        keys: list[int] = sample_keys(self.options.seed, step.epoch, step.ids, draws=step.draws).tolist()
        return keys

    def _note(self, key: Any) -> str:
        return f"headrace: sample {shown(key)} of {type(self.dataset).__name__}"

    def _samples_at_once(self, wanted: Sequence[Any], draw_key: int) -> Any:
        """All samples of a batch; whatever else it may be is for a `collate_fn` of the user to understand."""
        try:
            with sample_randomness(draw_key):
                samples = self.dataset.__getitems__(list(wanted))
        except (Exception, SystemExit) as error:
            error.add_note(f"headrace: samples {shown(wanted)} of {type(self.dataset).__name__}")
            raise
        if self.put_together is not None:
            return samples
        samples = list(samples)
        if len(samples) != len(wanted):
            raise SampleError(
                f"__getitems__ of {type(self.dataset).__name__} gives another number of samples than it is asked for",
                got=len(samples),
                accepted=len(wanted),
                remedy="Give a sample for each id, in their order; or take what comes with a collate_fn= of your own.",
            )
        return samples

    def _sample(self, key: Any, draw_key: int) -> Any:
        try:
            with sample_randomness(draw_key):
                return self.dataset[key]
        except (Exception, SystemExit) as error:
            error.add_note(self._note(key))
            raise

    def _stand_in(self, step: Step, error: Exception) -> Any:
        """What is delivered, as not valid, where no row of a batch is good: the next good sample of the dataset.

        Nobody knows what zeros of these samples would be, and a rank that raised would leave the others waiting.
        Which keys a dataset knows beside those of its sampler, nobody knows either: then the error is raised.
        """
        num = len(self.dataset) if step.keys is None and isinstance(self.dataset, Sized) else 0
        following = (int(step.ids[0]) + np.arange(1, min(num, MOST_TRIES + 1), dtype=np.int64)) % max(1, num)
        for index, draw_key in zip(following, sample_keys(self.options.seed, step.epoch, following), strict=True):
            try:
                return self._sample(int(index), int(draw_key))
            except Exception as other:
                if not is_of_content(other):
                    raise
        raise error


def makes_batches(dataset: Any) -> bool:
    """Whether a dataset makes the samples of a batch in one call; a `Subset` does where what it selects from does."""
    if type(dataset) is Subset:
        return makes_batches(dataset.dataset)
    return bool(getattr(dataset, "__getitems__", None))


def shown(key: Any) -> str:
    """A key, or the keys of a batch, in an error."""
    return repr(key)[:80]


def is_of_content(error: Exception) -> bool:
    """Whether a sample is at fault, and not the way to it: an `OSError` of any kind may go away, or hit all samples.

    Pillow says `UnidentifiedImageError` or a bare `OSError` without a number of damaged images.
    """
    pillow_says = type(error).__name__ == "UnidentifiedImageError" or (type(error) is OSError and error.errno is None)
    return pillow_says or not isinstance(error, OSError)
