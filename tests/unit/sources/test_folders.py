"""Walking a folder of files to pack."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import SourceError
from headrace.sources.folders import look, name_of, walk


@pytest.mark.timeout(20)
@pytest.mark.parametrize("note", [look, name_of])
def test_a_named_pipe_among_the_files_is_named_and_not_waited_for(tmp_path: Path, note) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.mkfifo(tmp_path / "b.txt")
    with pytest.raises(SourceError, match="pipe or a device") as caught:
        walk(str(tmp_path), note)
    assert str(tmp_path / "b.txt") in str(caught.value)
