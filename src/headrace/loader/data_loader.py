"""The loader: torch's arguments, our order, engine and explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from headrace.contracts import OnError, Tail
from headrace.datasets.collate_rules import RulesArgument
from headrace.datasets.plan import DecodeOptions, Exif, Fuse, MemoryFormat
from headrace.engine import StatsSnapshot
from headrace.engine.stats import Scope
from headrace.errors import OptionError
from headrace.loader.arguments import check_samplers, check_workers, read_shuffle, read_topology, seed_of
from headrace.loader.life import Life
from headrace.loader.options import Engine, Extra, LoaderOptions, ShuffleArgument
from headrace.loader.running import make_one
from headrace.loader.streams.compose import check_stream_arguments
from headrace.loader.torch_arguments import TorchArguments, read_context
from headrace.loader.torch_attributes import TorchAttributes
from headrace.order import OnBatchChange, Topology

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh

T = TypeVar("T")


class DataLoader(TorchAttributes, Generic[T]):
    """Delivers the batches of a dataset, as fast as the machine allows.

    Arguments of `torch.utils.data.DataLoader` mean what they mean there; `docs/reference/dataloader.md` lists the
    few differences. Ranks of a distributed job split each global batch by themselves and make equal steps; epochs
    advance by themselves.

    Args:
        dataset: A `ShardDataset`, a `torchvision.datasets.ImageFolder`, a `Subset` or `ConcatDataset` of those (all
            four decoded natively), any other map-style dataset, or one that can only be iterated over, which is split
            over ranks and workers if it has `shard(index, count)` (`docs/guide/iterable.md`).
        batch_size: Samples a batch of this rank; None: samples come one by one, as they are.
        shuffle: False: dataset order. True: windows of consecutive shards for shards, one permutation of everything
            elsewhere. "full" and "window" say it.
        sampler: Ids or keys in the order of the caller, instead of `shuffle`.
        batch_sampler: Lists of them, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: Native decode threads, or Python workers for what is not fused; 0: the caller's thread;
            "auto": this rank's share of the usable CPUs.
        collate_fn: Called on a worker with the list of a batch's samples, or with the sample where there are no
            batches; None: as torch's default.
        pin_memory: Deliver page-locked tensors (where there is a GPU).
        drop_last: Leave out the last global batch if it is not full (`tail="drop"`).
        timeout: Seconds for which a batch may be waited for; 0: for ever.
        worker_init_fn: Called in each worker process with its number; asks for processes where `engine` is "auto".
        multiprocessing_context: Accepted as in torch; worker processes are never forked, whatever it says.
        generator: A `torch.Generator` whose initial seed becomes `seed`.
        prefetch_factor: At most this many batches a worker in flight, within the byte budget.
        persistent_workers: True: workers go on at the end of an epoch and make the first batches of the next one, which
            then begins without a wait. Otherwise a loader between two epochs holds no thread and no batch.
        pin_memory_device: Accepted as in torch, which goes by the current accelerator too.
        in_order: Accepted as in torch; batches come in order either way.
        seed: Seed of order and augmentation, 64 bits.
        collate: Instead of `collate_fn`, how fields are put together on a worker: "stack", "pad", "list", a `Pad` or a
            function of the list of values, for whole samples or in a dict by field.
        tail: "drop", "pad" (repeat rows of the last global batch so that ranks stay even; marked in `valid`) or "keep"
            (as pad on several ranks, a short batch on one). None: as torch does.
        engine: "threads"; "processes", for Python that holds the interpreter's lock or draws from global generators;
            "auto": threads unless such Python is found or measured.
        seed_workers: Whether `random`, numpy's and torch's global generators of worker processes are seeded for each
            sample from (seed, epoch, sample). Those of this process are never touched.
        memory_budget: Bytes that the batches in flight may take in this process, or a size such as "8GiB".
        topology: Which rank of how many this is: a `Topology`, or a `DeviceMesh` (ranks that differ in other dimensions
            than the data-parallel ones get equal batches) or `ProcessGroup` of torch.distributed; None: found from
            torch.distributed or the launcher's variables at first use, then kept.
        accumulate: Batches that this rank makes for one step of the optimizer: 4 ranks with accumulate=2 and 8 ranks
            are the same run.
        window_samples: Samples a shuffle window covers at least; None: the shards that make up 2 GiB, four at least.
        canonical_nodes: Sequences that a window shuffle reads side by side, one a node; None: as many as there are
            nodes at the first start, then as the state says.
        on_batch_change: "refuse" a state that was saved with another global batch, or "continue": the rest of the
            epoch is delivered exactly once, in the new batches.
        batch_transform: Called on a worker with each batch (v2.MixUp, v2.CutMix, any function), before extras are
            added. What it draws from torch or `headrace.rng()` follows (seed, epoch, batch, rank), in every engine and
            after a resume; the caller's generators are not touched. Other ranks or batch sizes give other numbers.
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
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        seed: int = 0,
        collate: RulesArgument = None,
        batch_transform: Callable[[Any], Any] | None = None,
        tail: Tail | None = None,
        engine: Engine = "auto",
        seed_workers: bool = True,
        memory_budget: int | str = "auto",
        topology: Topology | DeviceMesh | ProcessGroup | None = None,
        accumulate: int = 1,
        window_samples: int | None = None,
        canonical_nodes: int | None = None,
        on_batch_change: OnBatchChange = "refuse",
        memory_format: MemoryFormat = "contiguous",
        fuse: Fuse = True,
        exif: Exif = "ignore",
        dct_scaling: bool = False,
        on_error: OnError = "raise",
        extras: Extra | Sequence[Extra] = (),
    ) -> None:
        options = LoaderOptions(
            batch_size=batch_size if batch_sampler is None else None,
            is_batched=batch_size is not None or batch_sampler is not None,
            shuffle=read_shuffle(shuffle),
            drop_last=drop_last,
            tail=tail,
            seed=seed if generator is None else seed_of(generator),
            engine=engine,
            seed_workers=seed_workers,
            worker_init_fn=worker_init_fn,
            timeout_s=timeout,
            num_workers=num_workers,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory=pin_memory,
            collate_fn=collate_fn,
            collate=collate,
            batch_transform=batch_transform,
            memory_budget=memory_budget,
            window_samples=window_samples,
            accumulate=accumulate,
            canonical_nodes=canonical_nodes,
            on_batch_change=on_batch_change,
            on_error=on_error,
            extras=(extras,) if isinstance(extras, str) else tuple(extras),
            decode=DecodeOptions(fuse=fuse, memory_format=memory_format, exif=exif, dct_scaling=dct_scaling),
        )
        given = TorchArguments(
            dataset=dataset,
            sampler=sampler,
            batch_sampler=batch_sampler,
            generator=generator,
            multiprocessing_context=read_context(multiprocessing_context, num_workers),
            pin_memory_device=pin_memory_device,
            in_order=in_order,
            shuffles=bool(shuffle),
        )
        check_samplers(given, options, batch_size)
        check_workers(options)
        if given.is_stream:
            check_stream_arguments(given, options)
        self._life = Life(given, options, read_topology(topology))

    def __repr__(self) -> str:
        """What it delivers; `explain()` says how."""
        size = "batch_sampler" if self._life.given.batch_sampler is not None else f"batch_size={self.batch_size}"
        return f"DataLoader({self.dataset!r}, {size}, seed={self.options.seed})"

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank, wherever in it the loader stands."""
        return self._life.length()

    def __iter__(self) -> Iterator[T]:
        """Starts the epoch after the last one that delivered a batch or ended, or goes on from a loaded state.

        `set_epoch` and `load_state_dict` say where the next iterator starts. A second live iterator ends the first,
        which then raises `StaleIteratorError`.

        Raises:
            RankMismatchError: Another rank of the job opens something else: other seed, epoch, data or arguments.
        """
        return self._life.going().begin()

    def forever(self) -> Iterator[T]:
        """Batches without end, one epoch after another, for training that counts steps.

        Raises:
            OptionError: Two epochs in a row have no batch.
        """
        num_empty = 0
        while num_empty < 2:
            num_empty += 1
            for batch in self._life.going().begin(goes_on=True):
                num_empty = 0
                yield batch
        raise OptionError("forever() finds no batch", got="an epoch without batches", remedy="Look at len(loader)")

    def set_epoch(self, epoch: int) -> None:
        """The next `iter` starts this epoch; not needed, since epochs advance by themselves.

        After `load_state_dict`, the epoch in which the state stands goes on from there; another one starts anew.
        """
        self._life.choose_epoch(epoch)

    def set_batch_size(self, batch_size: int) -> None:
        """From the next batch on, batches have this size: the rest of the epoch is delivered exactly once in them.

        Every rank has to call it after the same batch. Batches that were made ahead are made anew.

        Raises:
            OptionError: No integer of 1 or more, or the batches are those of a sampler.
            OrderError: Called between accumulated batches, or the canonical nodes do not divide the new global batch.
        """
        self._life.resize(batch_size)

    def state_dict(self) -> dict[str, Any]:
        """Where this loader stands, in under 1 KB that JSON can hold: what was delivered, not what was made ahead.

        Saved before the end of an epoch was signalled, the rest of it (perhaps nothing) comes first; after that, the
        next epoch.
        """
        return self._life.running().state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next `iter` goes on behind the last batch that was delivered when the state was saved.

        It may have been saved on another number of ranks, nodes, workers or accumulated batches. Nothing is replayed.
        A live iterator is ended.

        Raises:
            OrderError: The state belongs to another dataset, order or global batch, comes from a newer format, or is
                damaged. The field and both values are named, and the loader stays as it is.
        """
        self._life.running().restore(state_dict)

    def peek(self) -> T:
        """The batch that the next `iter` would deliver first, made in the caller's thread; nothing moves.

        Raises:
            OptionError: The epoch has no batch, or a sampler of the caller would move by being read.
        """
        composition = self._life.running().composition
        if composition.shuffle is None:
            raise OptionError(
                "peek() would move the sampler or the stream", remedy="Look at next(iter(loader)) instead"
            )
        first = next(composition.steps.steps(self._life.progress.upcoming), None)
        if first is None:
            raise OptionError("peek() finds no batch", got="an epoch without batches")
        return make_one(composition, first).batch  # type: ignore[no-any-return]

    def explain(self) -> str:
        """What was decided and why, at most fifteen lines."""
        return self._life.running().explain()

    def stats(self, scope: Scope = "total") -> StatsSnapshot:
        """What each stage did: busy and waiting time, items, bytes, queue fill, percentiles.

        Args:
            scope: "total": since the loader was made; "epoch": since the last `iter`.
        """
        return self._life.stats.snapshot(scope)

    def close(self) -> None:
        """Ends the live iterator, if any, and frees what it held. The loader can be iterated again."""
        self._life.close()

    @property
    def epoch(self) -> int:
        """The epoch of the current iterator; before the first, the one that it will start."""
        return self._life.progress.here.epoch

    @property
    def step(self) -> int:
        """Batches of the current epoch that lie behind, counted in the present size: `len(loader) - steps_left`."""
        return self._life.steps().num_done(self._life.progress.here)

    @property
    def steps_left(self) -> int:
        """Batches that the current epoch still has."""
        return self._life.steps().num_left(self._life.progress.here)

    @property
    def valid(self) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """One bool a row of the batch just delivered: False for padding and skipped samples; None before the first."""
        return self._life.progress.valid

    @property
    def num_workers(self) -> int:
        """Workers of this loader, as asked for, else as decided up to now; `explain()` says what there is room for."""
        asked = self.options.num_workers
        return asked if asked != "auto" else self._life.running().num_workers

    def __getstate__(self) -> dict[str, Any]:
        """What another process or a copy needs. The copy's next iterator starts where this one's would."""
        return self.__dict__ | {"_life": copy(self._life)}
