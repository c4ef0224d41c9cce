"""Protocols and small frozen values through which the layers meet. Standard library and numpy types only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
U64: TypeAlias = npt.NDArray[np.uint64]
U8: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]

Shuffle: TypeAlias = Literal["none", "full", "window"]
"""Modes of order: dataset order, one permutation of everything, permutation inside windows of consecutive shards."""

Tail: TypeAlias = Literal["drop", "pad", "keep"]
"""What happens to the samples that do not fill the last global batch."""

OnError: TypeAlias = Literal["raise", "skip"]

Missing: TypeAlias = Literal["raise", "skip", "none"]

Exif: TypeAlias = Literal["ignore", "apply"]
"""Whether the EXIF orientation turns the pixels. Ignoring it is what Pillow and torchvision's ImageFolder do."""

NO_ROWS: I64 = np.empty(0, dtype=np.int64)
NO_ROWS.flags.writeable = False

Allocate: TypeAlias = Callable[[Sequence[int], npt.DTypeLike], npt.NDArray[Any]]
"""`allocate(shape, dtype)` gives a C-contiguous, uninitialised array whose memory is a lease: it goes back to its
ring when the last array or tensor that looks at it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the samples of a dataset lie in its shards; all that an order may know of a dataset."""

    samples: I64
    """Samples of each shard, shape (shards,); sample ids count through the shards in their order."""
    sizes: I64
    """Size of each shard in bytes, shape (shards,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one rank delivers as one batch."""

    index: int
    """Position of the batch in its epoch on this rank, from 0; with gaps where streams end at different lengths."""
    epoch: int
    ids: I64
    """Sample ids, shape (rows,)."""
    valid: Bools
    """False where a row only repeats another one to keep the ranks even, shape (rows,)."""
    draws: I64 | None = None
    """`draw` of the sample key, shape (rows,): None means 0 everywhere."""
    start: int = 0
    """Samples, over all ranks, that the epoch delivered before index 0, in batches of another size."""
    worker: int | None = None
    """The only worker that can make it, where that matters; the steps of such a worker are made in their order."""
    task: Any = None
    """What the work has to know besides; can be pickled."""
    keys: Sequence[Any] | None = None
    """What a sampler of the user gave, one a row, where the dataset is to be asked for that instead of `ids`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemory:
    """Bytes that lie somewhere in the memory of this process."""

    addresses: U64
    """Address of the first byte of each row, shape (rows,)."""
    owner: object
    """Keeps the memory alive."""

    def take(self, rows: I64) -> InMemory:
        """Those of some rows."""
        return InMemory(addresses=self.addresses[rows], owner=self.owner)


class InPageCache(Protocol):
    """Bytes that lie in the page cache of the system, and in the memory of this process only once they are read."""

    @property
    def ranges(self) -> Any:
        """They as `_native.CachedRanges`: the kernel takes them in the place of addresses."""

    def read(self) -> InMemory:
        """Reads all of them.

        Raises:
            ShardError: The file is not what its index says.
            StorageError: It cannot be read.
        """

    def take(self, rows: I64) -> InPageCache:
        """Those of some rows."""

    def waited(self, wait_s: float) -> None:
        """Notes for how long the kernel has waited for what was not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteColumn:
    """The encoded bytes of one field for the rows of one batch."""

    place: InMemory | InPageCache
    """Where they lie."""
    sizes: U64
    """Size of each row in bytes, shape (rows,)."""
    absent: I64 = field(default_factory=lambda: NO_ROWS)
    """Rows that lack the field (address and size are 0 there), rising, shape (absent rows,)."""
    choices: I32 | None = None
    """Which extension of its entry each row has, where the entry has alternatives (`jpg;png`), shape (rows,); -1 where
    it has none."""
    faults: Mapping[int, Exception] = field(default_factory=dict)
    """Rows whose bytes cannot be had, where the source was told to go on; all of them are absent."""

    @property
    def present(self) -> I64:
        """Rows that have the field, rising, shape (present rows,)."""
        return np.delete(np.arange(len(self.sizes), dtype=np.int64), self.absent)

    def take(self, rows: I64) -> ByteColumn:
        """The bytes of some rows that have the field, as a column of their own."""
        return ByteColumn(place=self.place.take(rows), sizes=self.sizes[rows])

    @property
    def memory(self) -> InMemory:
        """The bytes in memory; what lies in the page cache is read now, once.

        Raises:
            ShardError: The file is not what its index says.
            StorageError: It cannot be read.
        """
        return self.place if isinstance(self.place, InMemory) else self.place.read()

    @property
    def left_bytes(self) -> int:
        """Bytes that are left in the page cache until they are decoded."""
        return 0 if isinstance(self.place, InMemory) else int(self.sizes.sum())

    @property
    def addresses(self) -> U64:
        """Address of the first byte of each row in memory, shape (rows,)."""
        return self.memory.addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumn:
    """Values of one field that need no decoding (labels of a folder tree, columns of a list)."""

    values: Sequence[Any] | npt.NDArray[Any]
    absent: I64 = field(default_factory=lambda: NO_ROWS)
    """Rows that lack the field (their value says nothing), rising, shape (absent rows,)."""


Column: TypeAlias = ByteColumn | ValueColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleName:
    """Where a sample comes from, for errors and `extras`."""

    shard: str | None
    """URL of the shard, or None for loose files."""
    key: str
    """Key in the shard, or path of the loose file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A row that could not be made, and why. The row's memory holds zeros."""

    row: int
    error: Exception


class Recorder(Protocol):
    """Takes what the stages of a loader measure. Safe to call from any thread; cheap."""

    def add(self, stage: str, busy_s: float, *, items: int = 1, size_bytes: int = 0) -> None:
        """Records one piece of work of a stage that took `busy_s` seconds."""

    def wait(self, stage: str, waited_s: float) -> None:
        """Records that a stage waited for `waited_s` seconds."""

    def count(self, event: str, num: int = 1) -> None:
        """Counts an event (skipped samples, fresh slots, Pillow fallbacks, ...)."""

    def fill(self, queue: str, num: int, capacity: int) -> None:
        """Records how full a queue is at this moment."""


class BatchSource(Protocol):
    """What a dataset offers a loader so that bytes are fetched by the batch."""

    def layout(self) -> Layout:
        """The shards of the dataset; one shard of all samples where there are none."""

    def identity(self) -> Mapping[str, Any]:
        """JSON-serialisable facts that make two datasets the same one; no absolute path, no time."""

    def fetch(self, ids: I64, allocate: Allocate) -> Mapping[str, Column]:
        """The columns of these samples. Called from I/O threads; releases the GIL while it reads."""

    def names(self, ids: I64) -> Sequence[SampleName]:
        """Names of these samples, for errors and `extras`; not on the hot path."""


class SplittableStream(Protocol):
    """An iterable dataset that a loader can split over ranks and workers."""

    def __iter__(self) -> Iterator[Any]:
        """The samples of all of it."""

    def shard(self, index: int, count: int) -> Iterable[Any]:
        """Part `index` of `count`: the parts of one count are disjoint and hold all samples together.

        Called anew for each epoch. A part may be empty. With `__len__`, the ranks of a job make equal steps.
        """


class ResumableStream(Protocol):
    """An iterable dataset, a part of one, or its iterator, that can be asked where it stands."""

    def state_dict(self) -> dict[str, Any]:
        """Where it stands behind the sample that it gave last: values that JSON can hold."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes there: the next sample is the one after it, at the next `iter` where this is no iterator itself."""


class StepWork(Protocol):
    """The work of a step as an engine sees it: two calls, each from several threads for different steps."""

    def size_bytes(self, step: Step) -> int | None:
        """Upper estimate of the memory that the step holds while it is in flight.

        None: nobody knows before a step was made. Such a step goes alone, and those behind it wait until it is made.
        """

    def fetch(self, step: Step, allocate: Allocate) -> Any:
        """Gets the bytes. On an I/O thread."""

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """Makes the batch. On a worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A batch as an engine hands it over."""

    step: Step
    batch: Any


class BatchStream(Protocol):
    """The batches of one iteration. Dropping it ends the work behind it."""

    def __iter__(self) -> Iterator[Delivered]:
        """Itself."""

    def __next__(self) -> Delivered:
        """The next batch, in the order of the steps; raises at its place what a step has raised."""

    def close(self) -> None:
        """Ends the work behind it. Idempotent."""


class Engine(Protocol):
    """Runs the work of steps: in the caller's thread, on threads, in processes."""

    def run(self, steps: Iterator[Step]) -> BatchStream:
        """Begins to make the batches of these steps, pulled as memory allows; ends an earlier iteration."""

    def close(self) -> None:
        """Ends a running iteration and refuses new ones. Idempotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """Limits that are checked before memory is taken."""

    pixels: int = 1 << 28
    """Width x height."""
    scans: int = 500
    """Scans of a progressive JPEG."""
    decoder_bytes: int = 1 << 30
    """Memory of one decoder beside the pixels."""


RAISE_LIMITS = (
    "If the image is real, raise the limit: limits=headrace.contracts.ImageLimits(pixels=..., scans=..., "
    "decoder_bytes=...) of ShardDataset and FileDataset"
)
"""What to do about an image beyond `ImageLimits`."""


class DecodeImage(Protocol):
    """Decodes one image of any format to a PIL image of mode RGB; raises a `DecodeError`."""

    def __call__(self, data: bytes | memoryview, limits: ImageLimits | None = None, exif: Exif = "ignore") -> Any:
        """Decodes the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainLine:
    """One decision and its reason."""

    topic: str
    choice: str
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)
