"""Where headrace keeps what it can make anew."""

from __future__ import annotations

import os
from pathlib import Path

from headrace._base.os_errors import from_os_error

VARIABLE = "HEADRACE_CACHE"


def cache_folder(*parts: str) -> Path:
    """The folder `$HEADRACE_CACHE/<parts>` (default: `headrace` in the user's cache folder), made if missing.

    Raises:
        StorageError: It cannot be made.
    """
    named = os.environ.get(VARIABLE)
    root = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"
    folder = root.joinpath(*parts)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, f"the cache folder cannot be made (set ${VARIABLE})", folder) from error
    return folder
