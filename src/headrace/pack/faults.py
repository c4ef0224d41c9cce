"""Failures of the file system while packing, as errors that name the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace._base.os_errors import from_os_error
from headrace.errors import HeadraceError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an OSError of the block into one that names the place.

    Raises:
        DiskFullError: There is no space left.
        StorageError: Anything else that the file system refuses.
    """
    try:
        yield
    except HeadraceError:
        raise
    except OSError as error:
        raise from_os_error(error, "cannot be written", path, stage="pack") from error
