"""What an interrupted run has noted."""

from __future__ import annotations

import pytest

from headrace.errors import SourceError
from headrace.pack.journal import Finished, Journal

ENTRIES = [Finished(shard=f"x-{n}.tar", num_samples=n, size_bytes=n * 512, md5="0" * 32) for n in range(3)]


def test_what_is_added_is_read_again(tmp_path):
    with Journal(tmp_path / "j", "ours") as journal:
        assert journal.read() == (None, [])
        journal.begin(ENTRIES[:1])
        journal.add(ENTRIES[1])
        journal.add(ENTRIES[2])
    with Journal(tmp_path / "j", "other") as journal:
        assert journal.read() == ("ours", ENTRIES)


def test_a_line_that_was_cut_short_is_left_out(tmp_path):
    with Journal(tmp_path / "j", "ours") as journal:
        journal.begin(ENTRIES)
        whole = journal.path.read_bytes()
        last = whole.rstrip(b"\n").rfind(b"\n") + 1
        for end in range(last, len(whole)):
            journal.path.write_bytes(whole[:end])
            assert journal.read() == ("ours", ENTRIES[:2])


@pytest.mark.parametrize("content", [b"", b"junk\n", b"[1]\n", b'{"format": 99, "fingerprint": "x"}\n', b"\xff\n"])
def test_what_is_no_journal_is_nobody_s(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with Journal(tmp_path / "j", "ours") as journal:
        assert journal.read() == (None, [])


def test_a_folder_has_one_packer_at_a_time(tmp_path):
    with Journal(tmp_path / "j", "ours"), pytest.raises(SourceError, match="another process"):
        Journal(tmp_path / "j", "ours")
    with Journal(tmp_path / "j", "ours"):
        pass
