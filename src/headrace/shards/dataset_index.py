"""The index of a dataset: its shards, their sample counts and sizes, without opening the shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from headrace.contracts import I64, OnError
from headrace.shards.catalog import Catalog, catalog_beside, open_catalog
from headrace.shards.dataset_json import dataset_document, write_document
from headrace.shards.faults import ShardFault
from headrace.shards.heads import IndexSummary, summarise
from headrace.shards.shard_info import ShardInfo
from headrace.shards.urls import Urls, check_present, expand_urls

DEFAULT_WORKERS = 16
"""Threads that open or scan shard indexes: waiting for storage, mostly."""

OnShard = Callable[[int, int], None]
"""Called with the shards done and all shards, from several threads, one at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetIndex:
    """The shards of a dataset in order. Samples are numbered through them."""

    shards: Sequence[ShardInfo]
    samples: I64
    """Samples of each shard, shape (shards,)."""
    sizes: I64
    """Size of each shard in bytes, shape (shards,)."""
    fields: tuple[str, ...]
    """Names of all fields, in the order of their first use."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Facts of whoever packed the dataset (class names, label order)."""
    faults: tuple[ShardFault, ...] = ()
    """Faults passed over with `on_error="skip"`."""
    on_error: OnError = "raise"

    @classmethod
    def open(
        cls,
        urls: Urls,
        *,
        on_error: OnError = "raise",
        workers: int = DEFAULT_WORKERS,
        on_progress: OnShard | None = None,
    ) -> Self:
        """The index of the shards that `urls` names (see `expand_urls`).

        Where an `index.json` lies beside the shards and lists all of them, it is believed, and each shard is checked
        when it is first read. Otherwise the shard indexes are read, and made where they are missing or stale, by
        several threads.

        Raises:
            SourceError: A shard is missing.
            ShardError: A shard that has to be scanned is not whole and well-formed (with `on_error="raise"`).
            IndexFormatError: The `index.json` is not valid.
            StorageError: Something cannot be read.
        """
        if isinstance(urls, str | os.PathLike) and os.fspath(urls).endswith(".json") and os.path.isfile(urls):
            listed = open_catalog(urls)
            check_present([shard.url for shard in listed.shards])
            return cls.from_catalog(listed, on_error)
        names = expand_urls(urls)
        catalog = catalog_beside(names)
        if catalog is not None:
            return cls.from_catalog(catalog, on_error)
        return cls.from_shards(names, on_error, workers, on_progress)

    @classmethod
    def from_catalog(cls, catalog: Catalog, on_error: OnError) -> Self:
        """From an index.json that lists all shards."""
        fields = catalog.fields
        if fields is None:
            fields = summarise(catalog.shards[0].url, on_error="raise").fields if len(catalog.shards) else ()
        return cls(
            shards=catalog.shards,
            samples=catalog.shards.samples,
            sizes=catalog.shards.sizes,
            fields=fields,
            extra=catalog.extra,
            on_error=on_error,
        )

    @classmethod
    def from_shards(
        cls, names: Sequence[str], on_error: OnError, workers: int = DEFAULT_WORKERS, on_progress: OnShard | None = None
    ) -> Self:
        """From the index of each shard."""
        summaries = summarise_all(names, on_error, workers, on_progress)
        shards = tuple(summary.info for summary in summaries)
        fields = dict.fromkeys(name for summary in summaries for name in summary.fields)
        return cls(
            shards=shards,
            samples=np.array([shard.num_samples for shard in shards], dtype=np.int64),
            sizes=np.array([shard.size_bytes for shard in shards], dtype=np.int64),
            fields=tuple(fields),
            faults=tuple(fault for summary in summaries for fault in summary.faults),
            on_error=on_error,
        )

    @property
    def num_samples(self) -> int:
        """Samples of all shards."""
        return int(self.samples.sum())

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Class names in the order of their numbers, None where nobody has noted any."""
        return class_names_of(self.extra)

    def save(self, path: str | os.PathLike[str], *, extra: Mapping[str, Any] | None = None) -> None:
        """Writes an `index.json` that wids reads too; `extra` replaces the facts kept so far."""
        facts = self.extra if extra is None else extra
        folder = os.path.dirname(os.path.abspath(path))
        write_document(path, dataset_document(self.shards, self.fields, facts, folder))


def class_names_of(facts: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The class names among the facts of a dataset."""
    names = facts.get("class_names")
    return tuple(map(str, names)) if isinstance(names, list) and names else None


def summarise_all(
    names: Sequence[str], on_error: OnError, workers: int, on_progress: OnShard | None
) -> list[IndexSummary]:
    """Summaries of all shards, in order; the first error ends the work."""
    summaries: list[IndexSummary] = []
    with ThreadPoolExecutor(max(1, min(workers, len(names))), thread_name_prefix="headrace-index") as pool:
        try:
            for summary in pool.map(partial(summarise, on_error=on_error), names):
                summaries.append(summary)
                if on_progress is not None:
                    on_progress(len(summaries), len(names))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return summaries
