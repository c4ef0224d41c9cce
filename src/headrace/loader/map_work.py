"""The work of a step for a map-style dataset that only Python knows: its items, then `collate_fn`.

Each item is made with `headrace.rng()` keyed by its sample; where the dataset makes all items of a batch in one call
(`__getitems__`), by the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from headrace._base.hashing import sample_keys
from headrace.contracts import Allocate, Recorder, Step
from headrace.datasets.collate_rules import parse_rules
from headrace.datasets.collate_samples import collate_samples, gives_one_value
from headrace.datasets.good_rows import repeat_good_rows
from headrace.errors import SampleError
from headrace.loader.extras import append_extras
from headrace.loader.made import BatchSizes, Made, tensor_bytes
from headrace.loader.options import LoaderOptions
from headrace.loader.pinning import pin
from headrace.recipes.randomness import RowsRandomness, sample_randomness

MOST_TRIES = 64
"""Samples that are tried in the place of a batch without a good row, before its fault is raised after all."""


class MapWork:
    """Items of the dataset, made on a worker. Exceptions keep their type and carry a note that names the index."""

    def __init__(
        self, dataset: Any, options: LoaderOptions, recorder: Recorder, sizes: BatchSizes, *, pins: bool
    ) -> None:
        self.dataset = dataset
        self.options = options
        self.recorder = recorder
        self.sizes = sizes
        self.pins = pins
        self.rules = parse_rules(options.collate)

    def size_bytes(self, step: Step) -> int:
        """Estimate from the largest row seen so far."""
        return self.sizes.estimate(step)

    def fetch(self, step: Step, allocate: Allocate) -> None:
        """Nothing: the dataset reads for itself."""

    def run(self, step: Step, fetched: None, allocate: Allocate) -> Made:
        """The batch of the step."""
        started = perf_counter()
        samples, bad = self._samples(step)
        self.recorder.add("dataset", perf_counter() - started, items=len(samples))
        valid = step.valid.copy()
        valid[bad] = False
        started = perf_counter()
        if bad:
            samples = repeat_good_rows(samples, bad, sorted(set(range(len(samples))).difference(bad)))
        batch = self._collate(samples, allocate)
        self.recorder.add("collate", perf_counter() - started, items=len(samples))
        self.sizes.saw(tensor_bytes(batch), len(samples))
        batch = append_extras(
            batch,
            self.options.extras,
            step,
            valid,
            None,
            one_value=gives_one_value(samples[0], self.rules, self.options.collate_fn),
        )
        return Made(batch=pin(batch) if self.pins else batch, valid=valid)

    def _collate(self, samples: list[Any], allocate: Allocate) -> Any:
        if self.options.collate_fn is not None:
            return self.options.collate_fn(samples)
        return collate_samples(samples, self.rules, allocate)

    def _samples(self, step: Step) -> tuple[list[Any], list[int]]:
        """The samples of a step, and the rows that failed where those are to be skipped."""
        if getattr(self.dataset, "__getitems__", None) is not None:
            return self._samples_at_once(step), []
        samples: list[Any] = []
        failed: list[tuple[int, Exception]] = []
        with RowsRandomness(lambda: self._keys(step), samples) as randomness:
            ids = randomness.along(step.ids.tolist())
            while len(samples) < len(step.ids):
                try:
                    self._go_on(ids, samples)
                except Exception as error:
                    error.add_note(self._note(int(step.ids[len(samples)])))
                    if self.options.on_error == "raise" or not is_of_content(error):
                        raise
                    failed.append((len(samples), error))
                    samples.append(None)
        if failed:
            self.recorder.count("skipped_samples", len(failed))
        if failed and len(failed) == len(samples):
            samples = [self._stand_in(step, failed[0][1])] * len(samples)
        return samples, [row for row, _ in failed]

    def _go_on(self, ids: Iterator[int], samples: list[Any]) -> None:
        """Makes samples until one fails: a row costs what the dataset takes for it, and an `append`."""
        dataset, add = self.dataset, samples.append
        for index in ids:
            add(dataset[index])

    def _keys(self, step: Step) -> list[int]:
        keys: list[int] = sample_keys(self.options.seed, step.epoch, step.ids, draws=step.draws).tolist()
        return keys

    def _note(self, index: int) -> str:
        return f"headrace: sample {index} of {type(self.dataset).__name__}"

    def _samples_at_once(self, step: Step) -> list[Any]:
        with sample_randomness(self._keys(step)[0]):
            samples = list(self.dataset.__getitems__(step.ids.tolist()))
        if len(samples) != len(step.ids):
            raise SampleError(
                f"__getitems__ of {type(self.dataset).__name__} gives another number of samples than it is asked for",
                got=len(samples),
                accepted=len(step.ids),
                remedy="Give a sample for each id, in their order; leave out beforehand what is not wanted.",
            )
        return samples

    def _sample(self, index: int, key: int) -> Any:
        try:
            with sample_randomness(key):
                return self.dataset[index]
        except Exception as error:
            error.add_note(self._note(index))
            raise

    def _stand_in(self, step: Step, error: Exception) -> Any:
        """What is delivered, as not valid, where no row of a batch is good: the next good sample of the dataset.

        Nobody knows what zeros of these samples would be, and a rank that raised would leave the others waiting.
        """
        num = len(self.dataset)
        following = (int(step.ids[0]) + np.arange(1, min(num, MOST_TRIES + 1), dtype=np.int64)) % num
        for index, key in zip(following, sample_keys(self.options.seed, step.epoch, following), strict=True):
            try:
                return self._sample(int(index), int(key))
            except Exception as other:
                if not is_of_content(other):
                    raise
        raise error


def is_of_content(error: Exception) -> bool:
    """Whether a sample is at fault, and not the way to it: an `OSError` of any kind may go away, or hit all samples.

    Pillow says `UnidentifiedImageError` or a bare `OSError` without a number of damaged images.
    """
    pillow_says = type(error).__name__ == "UnidentifiedImageError" or (type(error) is OSError and error.errno is None)
    return pillow_says or not isinstance(error, OSError)
