"""What datasets have in common whose samples are made from a batch source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from headrace.contracts import U64, BatchSource, ImageLimits, Missing, OnError
from headrace.datasets.context import BatchContext
from headrace.datasets.fields import SampleShape
from headrace.datasets.plan import DecodeOptions, plan_sample
from headrace.datasets.policy import Policy
from headrace.datasets.program import SampleProgram
from headrace.datasets.sample_numbers import sample_numbers
from headrace.datasets.unrecorded import Unrecorded
from headrace.engine import Pool
from headrace.errors import OptionError
from headrace.recipes.randomness import is_keyed, rng


class SourceDataset(Dataset[Any]):
    """A map-style dataset over a batch source. Works with any loader; ours takes the source itself.

    Args:
        source: Where the bytes come from.
        shape: The leaves of a sample.
        transform: As the user gave it.
        missing: What happens where a sample lacks a field.
        on_error: Whether faults of content are left out.
        allow_pickle: Extensions whose decoding may run code.
        limits: Limits that images are checked against; None: the usual ones.

    Raises:
        OptionError: A policy that is not accepted.
    """

    def __init__(
        self,
        source: BatchSource,
        shape: SampleShape,
        *,
        transform: Any,
        missing: Missing,
        on_error: OnError,
        allow_pickle: Sequence[str],
        limits: ImageLimits | None,
    ) -> None:
        check_policies(missing, on_error)
        self.source = source
        self.shape = shape
        self.transform = transform
        self.missing = missing
        self.on_error = on_error
        self.allow_pickle = tuple(allow_pickle)
        self.limits = limits or ImageLimits()
        self._num_samples = int(source.layout().samples.sum())
        self._program: SampleProgram | None = None

    def __len__(self) -> int:
        """Samples of the dataset."""
        return self._num_samples

    def __getitem__(self, index: int) -> Any:
        """One sample, transformed. A negative index counts from the end.

        Random transforms follow torch's generator here; inside of a dataset that a headrace loader iterates, they
        follow `headrace.rng()`.

        Raises:
            IndexError: There is no such sample.
            OptionTypeError: The index is no whole number.
            SampleError: Its content is faulty.
        """
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Several samples at once, as torch's own loader asks for them."""
        ids = sample_numbers(indices, len(self))
        context = BatchContext(
            keys=draw_keys(len(ids)),
            allocate=np.empty,
            names=lambda: self.source.names(ids),
            recorder=Unrecorded(),
            policy=Policy(on_error="raise", missing=self.missing, collate_fn=list),
        )
        samples: list[Any] = self._sample_program().run(self.source.fetch(ids, np.empty), context).batch
        return samples

    def __getstate__(self) -> Mapping[str, Any]:
        """What travels to a worker: no program, since it holds a pool of this process."""
        return self.__dict__ | {"_program": None}

    def _sample_program(self) -> SampleProgram:
        if self._program is None:
            options = DecodeOptions(allow_pickle=self.allow_pickle, limits=self.limits)
            self._program = SampleProgram(plan_sample(self.shape, self.transform, options), Pool(0), Unrecorded())
        return self._program


def check_policies(missing: object, on_error: object) -> None:
    """Refuses what is no policy, before anything is opened.

    Raises:
        OptionError: One of the two is not accepted.
    """
    if missing not in ("raise", "skip", "none"):
        raise OptionError("missing is not accepted", got=repr(missing), accepted="'raise', 'skip', 'none'")
    if on_error not in ("raise", "skip"):
        raise OptionError("on_error is not accepted", got=repr(on_error), accepted="'raise', 'skip'")


def draw_keys(num: int) -> U64:
    """Keys for samples that are asked for one by one, shape (num,).

    Inside of a sample that a loader makes they go on from its numbers, so that they are the same whatever thread makes
    it and two looks at one sample differ; elsewhere they follow torch's generator, which torch's workers seed
    differently in each of them.
    """
    if is_keyed():
        return rng().integers(0, 2**64, num, dtype=np.uint64)
    return torch.randint(-(2**63), 2**63 - 1, (num,)).numpy().view(np.uint64)
