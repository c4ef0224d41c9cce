"""What can be asked of `pack`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headrace._base.units import count
from headrace.errors import OptionError
from headrace.sources.columns import ListOptions
from headrace.sources.kinds import Dots, SourceKind

Damaged: TypeAlias = Literal["raise", "keep"]
"""What happens to an image that cannot be decoded for resizing: an error, or its bytes are packed as they are."""

DEFAULT_SHARD_SIZE_BYTES = 2 << 30
SMALLEST_SHARD_BYTES = 10 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeOptions:
    """Shrinks JPEG images while packing."""

    shorter_px: int
    """Length of the shorter edge afterwards; images whose shorter edge is not longer are kept byte for byte."""
    quality: int = 90
    """JPEG quality of shrunken images, 1 to 100."""
    damaged: Damaged = "raise"

    def __post_init__(self) -> None:
        if self.shorter_px < 1:
            raise OptionError("the shorter edge must have a length", got=self.shorter_px, accepted="1 or more pixels")
        if not 1 <= self.quality <= 100:
            raise OptionError("not a JPEG quality", got=self.quality, accepted="1 to 100")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """How a source is packed. The same source and the same options give the same bytes."""

    source: SourceKind | Literal["auto"] = "auto"
    name: str | None = None
    """Base name of the shards (`NAME-000000.tar`); otherwise the name of the destination folder."""
    shard_size_bytes: int | None = None
    """Largest size of a shard, 2 GiB unless asked otherwise; a single sample may be larger."""
    samples_per_shard: int | None = None
    """Largest number of samples of a shard, instead of a size."""
    shuffle: bool = True
    shuffle_seed: int = 0
    num_workers: int | None = None
    """Threads that read ahead and resize; None: one for each CPU at hand, two at least. Never changes the bytes."""
    resize: ResizeOptions | None = None
    dots: Dots = "refuse"
    list_options: ListOptions = field(default_factory=ListOptions)
    num_ranks: int | None = None
    """Ranks that will train from the shards, where that is known: the report says if there are too few shards."""
    allow_pickle: tuple[str, ...] = ()
    """Extensions that may be packed although reading them can run code, for instance ("pkl",)."""
    overwrite: bool = False
    """Replaces shards that another run has left in the destination."""

    def __post_init__(self) -> None:
        if self.shard_size_bytes is not None and self.samples_per_shard is not None:
            raise OptionError(
                "a shard's size and its number of samples cannot both be asked for",
                got=f"{count(self.shard_size_bytes, 'byte')} and {count(self.samples_per_shard, 'sample')}",
                remedy="Leave one of them out.",
            )
        if self.shard_size_bytes is not None and self.shard_size_bytes < SMALLEST_SHARD_BYTES:
            raise OptionError(
                "no tar is that small", got=count(self.shard_size_bytes, "byte"), accepted=f">= {SMALLEST_SHARD_BYTES}"
            )
        if self.samples_per_shard is not None and self.samples_per_shard < 1:
            raise OptionError("a shard needs a sample", got=self.samples_per_shard, accepted="1 or more")
        if not 0 <= self.shuffle_seed < 1 << 64:
            raise OptionError("shuffle_seed is out of range", got=self.shuffle_seed, accepted="0 to 2^64 - 1")
        if self.num_workers is not None and self.num_workers < 1:
            raise OptionError("packing needs a worker", got=self.num_workers, accepted="1 or more")
        if self.name is not None and (not self.name or "/" in self.name or self.name.startswith(".")):
            raise OptionError(
                "not a name for shards", got=repr(self.name), accepted="a file name without folders or a leading dot"
            )
