"""What `pack` says while it works and when it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from headrace.sources.kinds import SourceKind

Stage: TypeAlias = Literal["list", "check", "resize", "write"]
"""Listing the source, checking what an interrupted run has left, shrinking images, writing shards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackProgress:
    """How far a stage is."""

    stage: Stage
    num_done: int
    """Samples done, of the whole stage."""
    num_total: int | None
    """Samples of the stage; None while they are being listed."""
    size_bytes: int = 0
    """Bytes read or written by the stage so far."""


OnProgress: TypeAlias = Callable[[PackProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackReport:
    """What was packed."""

    destination: str
    kind: SourceKind
    """What the source was taken for."""
    kind_reason: str
    """Why it was taken for that."""
    shards: tuple[str, ...]
    """File names of the shards in the destination."""
    num_samples: int
    size_bytes: int
    """Of all shards together."""
    fields: tuple[str, ...]
    class_names: tuple[str, ...] | None
    num_kept_shards: int
    """Shards that an earlier run had finished and that were found whole."""
    num_ignored: int
    """Files of the source that are no part of any sample."""
    num_resized: int | None
    """Images that were shrunk in this run; None where none was asked for or all was done."""
    wall_s: float
    notes: tuple[str, ...]
    """What the user should know or do."""
