"""What a kind of source has to offer to be packed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from headrace.pack.catalog import Catalog
from headrace.pack.options import PackOptions
from headrace.sources.kinds import SourceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A source after it has been listed."""

    catalog: Catalog
    class_names: tuple[str, ...] | None = None
    """Names of the classes by label, where the source names them."""
    num_ignored: int = 0
    """Files that are no part of any sample (other extensions, hidden files)."""
    notes: tuple[str, ...] = ()
    """What a user should know of this source."""


class Source(Protocol):
    """One kind of source."""

    @property
    def kind(self) -> SourceKind:
        """Its name on the command line."""

    def scan(self, path: str, options: PackOptions, on_found: Callable[[int], None]) -> Scan:
        """Lists the samples without reading their contents.

        Args:
            path: What the user has named: a folder, a file or a pattern.
            options: How it is to be packed.
            on_found: Called now and then with the number of samples found so far.

        Raises:
            SourceError: Nothing to pack, or a source that contradicts itself, naming file and line.
        """
