"""Tar shards as a map-style dataset."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from headrace._base.units import count
from headrace.contracts import ImageLimits, Missing, OnError
from headrace.datasets.class_names import names_of_labels, with_classes
from headrace.datasets.fields import FieldsArgument, parse_fields
from headrace.datasets.shard_source import ShardSource
from headrace.datasets.source_dataset import SourceDataset, check_policies
from headrace.shards import DatasetIndex, expand_urls


class ShardDataset(SourceDataset):
    """The samples of tar shards in WebDataset layout.

    It works with any loader that takes map-style datasets; `headrace.DataLoader` reads and decodes it by the batch.

    Args:
        urls: A path with brace ranges (`train-{000000..000146}.tar`), a folder, a glob pattern, an `index.json`, or a
            sequence of those.
        fields: The shape of a sample: an extension gives the bare value, a tuple a tuple, a dict a dict, None a dict
            of all fields. Alternatives are separated by `;`. `headrace.field(...)` in the place of an extension says
            more of it: kind, path, format, classes.
        transform: A torchvision transform (v1: of the image; v2 or any callable: of the whole sample), or a dict of
            callables by field.
        missing: What happens where a sample lacks a field: "raise", "skip" (the row repeats a good one and is marked),
            "none" (None in its place).
        on_error: "skip" also keeps the whole samples before the fault of a damaged shard; `faults` says what was left
            out.
        allow_pickle: Extensions whose decoding may run code, such as ("pkl",).
        limits: Limits that images are checked against before memory is taken.

    Raises:
        SourceError: No shard is found.
        ShardError: A shard is not whole, unless `on_error` is "skip".
        OptionError: `fields` names what no shard holds, or asks for class names that the dataset index lacks.
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
        check_policies(missing, on_error)
        self.index = DatasetIndex.open(expand_urls(urls), on_error=on_error)
        shape = with_classes(parse_fields(fields, self.index.fields), self.index.class_names)
        self.classes = names_of_labels(shape, self.index.class_names)
        """Class names in the order of their labels: those that the label field is given, otherwise those of the dataset
        index; None where neither has any."""
        self.faults = tuple(fault.error for fault in self.index.faults)
        """What was found, and left out, with `on_error="skip"` while shards were indexed: an error for each fault. A
        shard that the dataset index lists as whole is looked at when it is first read: its faults are samples that the
        loader skips and counts."""
        super().__init__(
            ShardSource(self.index, shape),
            shape,
            transform=transform,
            missing=missing,
            on_error=on_error,
            allow_pickle=allow_pickle,
            limits=limits,
        )

    def __repr__(self) -> str:
        """How much of what."""
        num, names = len(self.index.shards), ", ".join(entry.name for entry in self.shape.entries)
        return f"ShardDataset({count(len(self), 'sample')} in {count(num, 'shard')}, fields {names})"
