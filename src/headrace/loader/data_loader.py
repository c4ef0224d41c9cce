"""The loader: torch's arguments, our order, engine and explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from headrace.contracts import OnError, Tail
from headrace.datasets.plan import DecodeOptions, Exif, Fuse, MemoryFormat
from headrace.engine import InlineEngine, Stats, StatsSnapshot, ThreadEngine
from headrace.engine.stats import Scope
from headrace.errors import OptionError
from headrace.loader.arguments import check_of_processes, check_samplers, check_topology, seed_of
from headrace.loader.composition import Composition, compose
from headrace.loader.explain import explain
from headrace.loader.iterator import LoaderIterator
from headrace.loader.options import Engine, Extra, LoaderOptions, ShuffleArgument
from headrace.loader.progress import Progress
from headrace.loader.running import make_engine, make_one
from headrace.loader.topology import detect_topology
from headrace.order import Topology

T = TypeVar("T")


class DataLoader(Generic[T]):
    """Delivers the batches of a map-style dataset, as fast as the machine allows.

    Arguments of `torch.utils.data.DataLoader` mean what they mean there; `docs/reference/dataloader.md` lists the
    few differences. Ranks of a distributed job split each global batch by themselves and make equal steps; epochs
    advance by themselves.

    Args:
        dataset: A `ShardDataset`, a `torchvision.datasets.ImageFolder`, a `Subset` or `ConcatDataset` of those (all
            four decoded natively), or any other map-style dataset.
        batch_size: Samples a batch of this rank; None with a `batch_sampler`.
        shuffle: False: dataset order. True: windows of consecutive shards for shards, one permutation of everything
            elsewhere. "full" and "window" say it.
        sampler: Ids in the order of the caller, instead of `shuffle`.
        batch_sampler: Lists of ids, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: Native decode threads, or Python workers for what is not fused; 0: the caller's thread;
            "auto": this rank's share of the usable CPUs.
        collate_fn: Called with the list of a batch's samples, on a worker; None: as torch's default.
        pin_memory: Deliver page-locked tensors (where there is a GPU).
        drop_last: Leave out the last global batch if it is not full (`tail="drop"`).
        timeout: 0; `worker_init_fn` and `multiprocessing_context` None: they belong to worker processes.
        generator: A `torch.Generator` whose initial seed becomes `seed`.
        prefetch_factor: At most this many batches a worker in flight, within the byte budget.
        persistent_workers: Accepted as in torch; an idle loader holds no thread either way.
        in_order: Accepted as in torch; batches come in order either way.
        seed: Seed of order and augmentation, 64 bits.
        tail: "drop", "pad" (repeat rows of the last global batch so that ranks stay even; marked in `valid`) or "keep"
            (as pad on several ranks, a short batch on one). None: as torch does.
        engine: "threads", or "auto".
        memory_budget: Bytes that the batches in flight may take in this process, or a size such as "8GiB".
        topology: Which rank of how many this is; None: found from torch.distributed or the launcher's variables at
            first use, then kept.
        window_samples: Samples a shuffle window covers at least; None: the shards that make up 2 GiB, four at least.
        memory_format: "contiguous" (NCHW) or "channels_last".
        fuse: True; "exact": nothing that differs from torchvision's tensor code by a level; False: torchvision itself.
        exif: "ignore" the orientation, as torchvision's ImageFolder does, or "apply" it.
        dct_scaling: Decode large crops at 1/2, 1/4 or 1/8: faster, other pixels (mean difference under 1.5 levels).
        on_error: "skip" repeats a good row of the batch in place of a sample whose content is faulty, marks it in
            `valid` and counts it; "raise" raises with shard, key and field.
        extras: Any of "index", "key", "url", "valid", appended to tuple batches, added as `__index__` to dicts.

    Raises:
        OptionError: An argument that is not accepted.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: ShuffleArgument = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int | Literal["auto"] = "auto",
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,  # noqa: FBT001, FBT002 - torch's positions
        drop_last: bool = False,  # noqa: FBT001, FBT002
        timeout: float = 0,
        worker_init_fn: None = None,
        multiprocessing_context: None = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        in_order: bool = True,
        seed: int = 0,
        tail: Tail | None = None,
        engine: Engine = "auto",
        memory_budget: int | str = "auto",
        topology: Topology | None = None,
        window_samples: int | None = None,
        memory_format: MemoryFormat = "contiguous",
        fuse: Fuse = True,
        exif: Exif = "ignore",
        dct_scaling: bool = False,
        on_error: OnError = "raise",
        extras: Extra | Sequence[Extra] = (),
    ) -> None:
        check_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last=drop_last)
        check_topology(topology)
        check_of_processes(
            timeout=timeout, worker_init_fn=worker_init_fn, multiprocessing_context=multiprocessing_context
        )
        self.dataset = dataset
        self.batch_size = batch_size if batch_sampler is None else None
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.options = LoaderOptions(
            batch_size=self.batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            tail=tail,
            seed=seed if generator is None else seed_of(generator),
            engine=engine,
            num_workers=num_workers,
            prefetch_factor=prefetch_factor,
            pin_memory=pin_memory,
            collate_fn=collate_fn,
            memory_budget=memory_budget,
            window_samples=window_samples,
            on_error=on_error,
            extras=(extras,) if isinstance(extras, str) else tuple(extras),
            decode=DecodeOptions(fuse=fuse, memory_format=memory_format, exif=exif, dct_scaling=dct_scaling),
        )
        self._topology = topology
        self._composed: Composition | None = None
        self._progress = Progress()
        self._stats = Stats()
        self._engine: ThreadEngine | InlineEngine | None = None

    def __repr__(self) -> str:
        """What it delivers; `explain()` says how."""
        size = f"batch_size={self.batch_size}" if self.batch_size is not None else "batch_sampler"
        return f"DataLoader({self.dataset!r}, {size}, seed={self.options.seed})"

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank."""
        return self._composition().steps.num_steps(self._progress.upcoming)

    def __iter__(self) -> Iterator[T]:
        """Starts the epoch after the last one that delivered a batch or ended, unless `set_epoch` came between.

        A second live iterator ends the first, which then raises `StaleIteratorError`.
        """
        composition = self._composition()
        if self._engine is None:
            self._engine = make_engine(composition, self._stats)
        self._stats.begin_epoch()
        stream = self._engine.run(composition.steps.steps(self._progress.begin()))
        return LoaderIterator(stream, self._progress, composition.topology.rank)

    def set_epoch(self, epoch: int) -> None:
        """The next `iter` starts this epoch; not needed, since epochs advance by themselves."""
        self._progress.choose(epoch)

    def peek(self) -> T:
        """The batch that the next `iter` would deliver first, made in the caller's thread; nothing moves.

        Raises:
            OptionError: The epoch has no batch, or a sampler of the caller would move by being read.
        """
        composition = self._composition()
        if composition.shuffle is None:
            raise OptionError("peek() would move the sampler", remedy="Look at next(iter(loader)) instead")
        first = next(composition.steps.steps(self._progress.upcoming), None)
        if first is None:
            raise OptionError("peek() finds no batch", got="an epoch without batches")
        return make_one(composition, first).batch  # type: ignore[no-any-return]

    def explain(self) -> str:
        """What was decided and why, at most fifteen lines."""
        return explain(self._composition(), self._progress.upcoming)

    def stats(self, scope: Scope = "total") -> StatsSnapshot:
        """What each stage did: busy and waiting time, items, bytes, queue fill, percentiles.

        Args:
            scope: "total": since the loader was made; "epoch": since the last `iter`.
        """
        return self._stats.snapshot(scope)

    def close(self) -> None:
        """Ends the live iterator, if any, and frees what it held. The loader can be iterated again."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    @property
    def epoch(self) -> int:
        """The epoch of the current iterator; before the first, the one that it will start."""
        return self._progress.epoch if self._progress.step else self._progress.upcoming

    @property
    def step(self) -> int:
        """Batches delivered in the current epoch."""
        return self._progress.step

    @property
    def steps_left(self) -> int:
        """Batches that the current epoch still has."""
        return self._composition().steps.num_steps(self._progress.epoch) - self._progress.step

    @property
    def valid(self) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """One bool a row of the batch just delivered: False for padding and skipped samples; None before the first."""
        return self._progress.valid

    @property
    def num_workers(self) -> int:
        """Workers of this loader, as decided."""
        return self._composition().workers.num_workers

    @property
    def pin_memory(self) -> bool:
        """Whether batches are page-locked."""
        return self.options.pin_memory

    @property
    def drop_last(self) -> bool:
        """Whether a global batch that is not full is left out."""
        return self.options.drop_last

    @property
    def collate_fn(self) -> Callable[[list[Any]], Any] | None:
        """The caller's collate function, if any."""
        return self.options.collate_fn

    def __getstate__(self) -> dict[str, Any]:
        """What another process or a copy needs: threads, batches in flight and statistics stay here."""
        return self.__dict__ | {"_composed": None, "_stats": None, "_engine": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._stats = Stats()

    def _composition(self) -> Composition:
        if self._composed is None:
            topology = detect_topology(self._topology)
            self._composed = compose(self.dataset, self.options, topology, self.sampler, self.batch_sampler)
        return self._composed
