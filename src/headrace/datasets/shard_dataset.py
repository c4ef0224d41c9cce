"""Tar shards as a map-style dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from headrace.contracts import U64, ImageLimits, Missing, OnError
from headrace.datasets.context import BatchContext
from headrace.datasets.fields import FieldsArgument, parse_fields
from headrace.datasets.plan import DecodeOptions, plan_sample
from headrace.datasets.policy import Policy
from headrace.datasets.program import SampleProgram
from headrace.datasets.shard_source import ShardSource
from headrace.datasets.unrecorded import Unrecorded
from headrace.engine import Pool
from headrace.errors import OptionError
from headrace.recipes.randomness import is_keyed, rng
from headrace.shards import DatasetIndex, expand_urls


class ShardDataset(Dataset[Any]):
    """The samples of tar shards in WebDataset layout.

    It works with any loader that takes map-style datasets; `headrace.DataLoader` reads and decodes it by the batch.

    Args:
        urls: A path with brace ranges (`train-{000000..000146}.tar`), a folder, a glob pattern, an `index.json`, or a
            sequence of those.
        fields: The shape of a sample: an extension gives the bare value, a tuple a tuple, a dict a dict, None a dict
            of all fields. Alternatives are separated by `;`.
        transform: A torchvision transform (v1: of the image; v2 or any callable: of the whole sample), or a dict of
            callables by field.
        missing: What happens where a sample lacks a field: "raise", "skip" (the row repeats a good one and is marked),
            "none" (None in its place).
        on_error: "skip" also keeps the whole samples before the fault of a damaged shard, and counts the rest.
        allow_pickle: Extensions whose decoding may run code, such as ("pkl",).
        limits: Limits that images are checked against before memory is taken.

    Raises:
        SourceError: No shard is found.
        ShardError: A shard is not whole, unless `on_error` is "skip".
        OptionError: `fields` names what no shard holds.
    """

    def __init__(
        self,
        urls: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        fields: FieldsArgument = None,
        transform: Any = None,
        missing: Missing = "raise",
        on_error: OnError = "raise",
        allow_pickle: Sequence[str] = (),
        limits: ImageLimits | None = None,
    ) -> None:
        if missing not in ("raise", "skip", "none"):
            raise OptionError("missing is not accepted", got=repr(missing), accepted="'raise', 'skip', 'none'")
        if on_error not in ("raise", "skip"):
            raise OptionError("on_error is not accepted", got=repr(on_error), accepted="'raise', 'skip'")
        self.index = DatasetIndex.open(expand_urls(urls), on_error=on_error)
        self.shape = parse_fields(fields, self.index.fields)
        self.transform = transform
        self.missing = missing
        self.on_error = on_error
        self.allow_pickle = tuple(allow_pickle)
        self.limits = limits or ImageLimits()
        self.source = ShardSource(self.index, self.shape)
        self._program: SampleProgram | None = None

    @property
    def classes(self) -> Sequence[str] | None:
        """Class names in the order of their labels, where the dataset index holds them."""
        names = self.index.extra.get("class_names")
        return tuple(map(str, names)) if isinstance(names, list) else None

    def __len__(self) -> int:
        """Samples in all shards."""
        return self.index.num_samples

    def __repr__(self) -> str:
        """How much of what."""
        num, names = len(self.index.shards), ", ".join(entry.name for entry in self.shape.entries)
        return f"ShardDataset({len(self):,} samples in {num:,} shards, fields {names})"

    def __getitem__(self, index: int) -> Any:
        """One sample, transformed.

        Random transforms follow torch's generator here; inside of a dataset that a headrace loader iterates, they
        follow `headrace.rng()`.

        Raises:
            IndexError: There is no such sample.
            SampleError: Its content is faulty.
        """
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Several samples at once, as torch's own loader asks for them."""
        ids = np.asarray(indices, dtype=np.int64)
        ids = np.where(ids < 0, ids + len(self), ids)
        if len(ids) and not (ids.min() >= 0 and ids.max() < len(self)):
            raise IndexError(f"sample {', '.join(map(str, indices))} is out of range: there are {len(self):,}")
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


def draw_keys(num: int) -> U64:
    """Keys for samples that are asked for one by one, shape (num,).

    Inside of a sample that a loader makes they go on from its numbers, so that they are the same whatever thread makes
    it and two looks at one sample differ; elsewhere they follow torch's generator, which torch's workers seed
    differently in each of them.
    """
    if is_keyed():
        return rng().integers(0, 2**64, num, dtype=np.uint64)
    return torch.randint(-(2**63), 2**63 - 1, (num,)).numpy().view(np.uint64)
