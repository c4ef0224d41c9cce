"""Walking a folder of files to pack."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import SourceError
from headrace.pack.folders import walk


@pytest.mark.timeout(20)
def test_a_named_pipe_among_the_files_is_named_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.mkfifo(tmp_path / "b.txt")
    with pytest.raises(SourceError, match="pipe or a device") as caught:
        walk(str(tmp_path))
    assert str(tmp_path / "b.txt") in str(caught.value)
