"""The work of a step for a map-style dataset that only Python knows: its items, then `collate_fn`.

Each item is made with `headrace.rng()` keyed by its sample; where the dataset makes all items of a batch in one call
(`__getitems__`), by the first of them.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from headrace._base.hashing import sample_keys
from headrace.contracts import Allocate, Recorder, Step
from headrace.datasets.collate_rules import parse_rules
from headrace.datasets.collate_samples import collate_samples
from headrace.datasets.good_rows import repeat_good_rows
from headrace.loader.extras import append_extras
from headrace.loader.made import BatchSizes, Made, tensor_bytes
from headrace.loader.options import LoaderOptions
from headrace.loader.pinning import pin
from headrace.recipes.randomness import sample_randomness


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
        good = [row for row in range(len(samples)) if row not in set(bad)]
        started = perf_counter()
        batch = self._collate(repeat_good_rows(samples, bad, good), allocate)
        self.recorder.add("collate", perf_counter() - started, items=len(samples))
        self.sizes.saw(tensor_bytes(batch), len(samples))
        batch = append_extras(batch, self.options.extras, step, valid, None)
        return Made(batch=pin(batch) if self.pins else batch, valid=valid)

    def _collate(self, samples: list[Any], allocate: Allocate) -> Any:
        if self.options.collate_fn is not None:
            return self.options.collate_fn(samples)
        return collate_samples(samples, self.rules, allocate)

    def _samples(self, step: Step) -> tuple[list[Any], list[int]]:
        """The samples of a step, and the rows that failed where those are to be skipped."""
        keys = sample_keys(self.options.seed, step.epoch, step.ids, draws=step.draws).tolist()
        if hasattr(self.dataset, "__getitems__"):
            with sample_randomness(keys[0]):
                return list(self.dataset.__getitems__(step.ids.tolist())), []
        samples: list[Any] = []
        failed: list[tuple[int, Exception]] = []
        for row, index in enumerate(step.ids.tolist()):
            try:
                with sample_randomness(keys[row]):
                    samples.append(self.dataset[index])
            except Exception as error:
                error.add_note(f"headrace: sample {index} of {type(self.dataset).__name__}")
                if self.options.on_error == "raise" or isinstance(error, OSError):
                    raise
                samples.append(None)
                failed.append((row, error))
        if failed:
            self.recorder.count("skipped_samples", len(failed))
            if len(failed) == len(samples):
                # No row is left that could be repeated.
                raise failed[0][1]
        return samples, [row for row, _ in failed]
