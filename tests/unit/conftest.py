"""Small trees of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Path]:
    """Writes files under a folder: `tree({"a/1.jpg": b"..."})` gives the folder."""

    def write(files: dict[str, bytes], name: str = "source") -> Path:
        for relative, content in files.items():
            path = tmp_path / name / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / name

    return write
