"""Members a second of indexing a shard that lies in the page cache, on one core. Usage: `python -m benchmarks.scan`."""

from __future__ import annotations

import argparse
import os
import statistics
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import data, results
from headrace.shards.scan import scan_file

NUM_SCANS = 7


def members(num: int, size_bytes: int) -> Iterator[bytes]:
    """Samples of one JPEG and one label each, as a shard has them: header, data, padding."""
    padded = -(-size_bytes // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
    content = os.urandom(size_bytes).ljust(padded, b"\0")
    for number in range(num):
        info = tarfile.TarInfo(f"{number // 2:08d}.{'jpg' if number % 2 == 0 else 'json'}")
        info.size = size_bytes
        yield info.tobuf(tarfile.USTAR_FORMAT) + content


def write_shard(path: Path, num: int, size_bytes: int) -> None:
    """A shard of members that are all of one size."""
    with path.open("wb") as file:
        file.writelines(members(num, size_bytes))
        file.write(bytes(2 * tarfile.BLOCKSIZE))


def members_per_s(path: Path, num: int) -> float:
    """The median of some scans."""
    times = []
    with path.open("rb", buffering=0) as file:
        for _ in range(NUM_SCANS):
            began = time.perf_counter()
            scan = scan_file(file.fileno(), path.stat().st_size, path.name)
            times.append(time.perf_counter() - began)
            if scan.num_members != num or scan.faults:
                raise SystemExit(f"{scan.num_members} members found, {len(scan.faults)} faults")
    return num / statistics.median(times)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    data.add_arguments(parser)
    args = parser.parse_args()
    args.home.mkdir(parents=True, exist_ok=True)
    share = 10 if args.quick else 1
    figures = {}
    for name, num, size_bytes in (("1k", 400_000 // share, 1 << 10), ("52k", 20_000 // share, 52 << 10)):
        path = args.home / f"scan-{name}.tar"
        write_shard(path, num, size_bytes)
        figures[f"members_per_s_{name}"] = members_per_s(path, num)
        path.unlink()
    results.save("scan", figures, quick=args.quick)


if __name__ == "__main__":
    main()
