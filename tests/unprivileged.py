"""What another user than root may do, for tests that run as root."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Has the block run as a user who may not read every file; gives a new folder of his.

    Folders of pytest are root's alone, so that this one lies beside them. All threads become that user.
    """
    folder = Path(tempfile.mkdtemp(prefix="headrace-test-"))
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        shutil.rmtree(folder)
