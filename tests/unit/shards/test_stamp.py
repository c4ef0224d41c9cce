"""How an index knows its shard, for files that no index should be of."""

from __future__ import annotations

import os

import numpy as np
import pytest

from headrace.shards.stamp import headers_hash, is_fresh, stamp_of

NO_OFFSETS = np.zeros(0, dtype=np.uint64)


@pytest.mark.parametrize("size_bytes", [0, 1, 100, 511, 512, 1024])
def test_a_file_without_members_is_known_by_what_it_holds_however_short(tmp_path, size_bytes):
    path = str(tmp_path / "a.tar")
    (tmp_path / "a.tar").write_bytes(b"a" * size_bytes)
    fd = os.open(path, os.O_RDONLY)
    try:
        stamp, hashes = stamp_of(fd, path, NO_OFFSETS), set()
        for number in range(8):
            _ = np.full(512, number, dtype=np.uint8)  # memory that is given back with other bytes each time
            hashes.add(headers_hash(fd, path, size_bytes, NO_OFFSETS))
        assert hashes == {stamp.headers}
        assert is_fresh(stamp, fd, path, NO_OFFSETS)
        if size_bytes:
            os.truncate(path, 0)
            os.truncate(path, size_bytes)
            assert headers_hash(fd, path, size_bytes, NO_OFFSETS) != stamp.headers
    finally:
        os.close(fd)
