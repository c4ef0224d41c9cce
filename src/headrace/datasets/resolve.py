"""Finds the batch source under a dataset, through `Subset` and `ConcatDataset`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from torch.utils.data import ConcatDataset, Subset

from headrace.contracts import BatchSource, ImageLimits, Missing, OnError
from headrace.datasets.fields import SampleShape
from headrace.datasets.file_dataset import FileDataset
from headrace.datasets.image_folder import SHAPE, folder_source, folder_transform, is_plain_image_folder
from headrace.datasets.shard_dataset import ShardDataset
from headrace.datasets.source_dataset import SourceDataset
from headrace.datasets.views import JoinedSource, SelectedSource
from headrace.errors import HeadraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A dataset whose samples are known well enough to be made by the batch."""

    source: BatchSource
    shape: SampleShape
    transform: Any
    missing: Missing = "raise"
    on_error: OnError = "raise"
    allow_pickle: tuple[str, ...] = ()
    limits: ImageLimits = field(default_factory=ImageLimits)
    faults: tuple[HeadraceError, ...] = ()
    """What is left out of the dataset because its shard is damaged."""
    sharded: bool = False
    """Whether its order may follow shards (`shuffle=True` means windows)."""


def resolve(dataset: object) -> Resolved | str:
    """The batch source of a dataset, or the reason why it has none."""
    if isinstance(dataset, SourceDataset) and type(dataset) in (ShardDataset, FileDataset):
        return _own(dataset)
    if is_plain_image_folder(dataset):
        return Resolved(source=folder_source(dataset), shape=SHAPE, transform=folder_transform(dataset))
    if type(dataset) is Subset:
        inner = resolve(dataset.dataset)
        if isinstance(inner, str):
            return f"a Subset of a dataset that only Python knows: {inner}"
        return replace(inner, source=SelectedSource(inner.source, list(dataset.indices)), sharded=False)
    if type(dataset) is ConcatDataset:
        return _join([resolve(part) for part in dataset.datasets])
    return f"{type(dataset).__name__} has a __getitem__ of its own"


def _own(dataset: SourceDataset) -> Resolved:
    return Resolved(
        source=dataset.source,
        shape=dataset.shape,
        transform=dataset.transform,
        missing=dataset.missing,
        on_error=dataset.on_error,
        allow_pickle=dataset.allow_pickle,
        limits=dataset.limits,
        faults=dataset.faults if isinstance(dataset, ShardDataset) else (),
        sharded=isinstance(dataset, ShardDataset),
    )


def _join(parts: list[Resolved | str]) -> Resolved | str:
    known = [part for part in parts if isinstance(part, Resolved)]
    if len(known) < len(parts):
        reason = next(part for part in parts if isinstance(part, str))
        return f"a ConcatDataset with a part that only Python knows: {reason}"
    first = known[0]
    for part in known[1:]:
        if replace(part, source=first.source, sharded=first.sharded, faults=first.faults) != first:
            return "a ConcatDataset whose parts differ in fields, transform or policy"
    joined = JoinedSource([part.source for part in known])
    faults = tuple(fault for part in known for fault in part.faults)
    return replace(first, source=joined, sharded=all(part.sharded for part in known), faults=faults)
