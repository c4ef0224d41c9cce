from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import CorruptShardError, ShardError, SourceError, TruncatedShardError, UnresolvedLinkError
from headrace.shards import RawSample, ShardFault, compressed, iterate_shard
from tests.tars import END, member, pairs, tar_of


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".tar.gz": gzip.compress,
    ".tgz": gzip.compress,
    ".tar.bz2": bz2.compress,
    ".tar.xz": lzma.compress,
    ".tar.zst": zstd,
}


def test_samples_in_order() -> None:
    samples = list(iterate_shard(io.BytesIO(tar_of(pairs(3)))))
    assert samples[1] == RawSample(key="0001", fields={"jpg": b"1 jpg" * 3, "txt": b"1 txt" * 3})
    assert [sample.key for sample in samples] == ["0000", "0001", "0002"]


@pytest.mark.parametrize("suffix", COMPRESSORS)
class TestCompressed:
    def test_is_read(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"x{suffix}"
        path.write_bytes(COMPRESSORS[suffix](tar_of(pairs(50))))
        assert list(iterate_shard(path)) == list(iterate_shard(io.BytesIO(tar_of(pairs(50)))))

    def test_cut_is_an_error(self, tmp_path: Path, suffix: str) -> None:
        data = COMPRESSORS[suffix](b"".join(member(f"{i}.bin", os.urandom(3000)) for i in range(50)) + END)
        path = tmp_path / f"x{suffix}"
        for length in (20, len(data) // 2, len(data) - 2):
            path.write_bytes(data[:length])
            with pytest.raises(ShardError) as caught:
                list(iterate_shard(path))
            assert caught.value.where["shard"] == str(path)

    def test_damage_is_an_error(self, tmp_path: Path, suffix: str) -> None:
        data = bytearray(COMPRESSORS[suffix](b"".join(member(f"{i}.bin", os.urandom(3000)) for i in range(50)) + END))
        data[len(data) // 2] ^= 0x55
        path = tmp_path / f"x{suffix}"
        path.write_bytes(bytes(data))
        faults: list[ShardFault] = []
        with pytest.raises(ShardError):
            list(iterate_shard(path))
        kept = list(iterate_shard(path, on_error="skip", report=faults.append))
        assert len(kept) < 50 or suffix in (".tar.gz", ".tgz", ".tar.zst")  # these check at the end of the stream
        assert [fault.ends_shard for fault in faults] == [True]


def test_plain_bytes_under_a_compressed_name(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(tar_of(pairs(1)))
    with pytest.raises(CorruptShardError, match="damaged compressed stream"):
        list(iterate_shard(path))


def test_compressed_bytes_under_a_plain_name_say_so(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(gzip.compress(tar_of([(f"{i}.bin", os.urandom(500)) for i in range(3)])))
    with pytest.raises(ShardError, match=r"compressed: name it \.tar\.gz"):
        list(iterate_shard(path))


def test_zstd_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    (tmp_path / "x.tar.zst").write_bytes(b"")
    monkeypatch.setattr(compressed.importlib, "import_module", missing)
    with pytest.raises(SourceError, match="pip install zstandard"):
        list(iterate_shard(tmp_path / "x.tar.zst"))


LINKED = member("a.jpg", b"picture") + member("b.jpg", type=b"1", linkname="a.jpg") + member("c.jpg", b"c") + END


def test_links_are_followed_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(LINKED)
    assert [dict(sample.fields) for sample in iterate_shard(path)] == [
        {"jpg": b"picture"},
        {"jpg": b"picture"},
        {"jpg": b"c"},
    ]


def test_links_in_a_stream_that_cannot_go_back_are_an_error() -> None:
    with pytest.raises(UnresolvedLinkError, match="Unpack") as caught:
        list(iterate_shard(io.BytesIO(LINKED)))
    assert caught.value.where["key"] == "b"
    faults: list[ShardFault] = []
    kept = [sample.key for sample in iterate_shard(io.BytesIO(LINKED), on_error="skip", report=faults.append)]
    assert kept == ["a", "c"]
    assert len(faults) == 1


def test_short_reads_of_a_pipe() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.data = io.BytesIO(data)

        def read(self, size: int = -1) -> bytes:
            return self.data.read(min(size, 100))

    samples = list(iterate_shard(Pipe(tar_of([("a.bin", b"x" * 5000)]))))  # type: ignore[arg-type]
    assert samples[0].fields["bin"] == b"x" * 5000


def test_a_header_that_claims_much_takes_no_memory() -> None:
    huge = bytearray(member("a.bin", b"little"))
    huge[124:136] = b"\x80" + (1 << 60).to_bytes(11, "big")
    huge[148:156] = b" " * 8
    huge[148:156] = b"%06o\0 " % sum(huge[:512])
    with pytest.raises(TruncatedShardError):
        list(iterate_shard(io.BytesIO(bytes(huge))))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gone"):
        list(iterate_shard(tmp_path / "gone.tar"))
