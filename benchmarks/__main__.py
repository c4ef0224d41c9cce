"""Every benchmark, one after another, then the README's figures: `python -m benchmarks [--quick]`.

About 50 minutes on two cores that do nothing else, or 5 with `--quick`, whose figures are rough and leave the README
alone. A benchmark that fails does not keep the others from running; the exit code tells.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from benchmarks import data

BENCHMARKS = {
    "order": 10,
    "restore": 10,
    "shuffle_quality": 15,
    "scan": 20,
    "kernel": 40,
    "kernel_stages": 30,
    "loader_vs_kernel": 60,
    "first_batch": 45,
    "memory": 20,
    "shared_list": 300,
    "pack_vs_tar": 60,
    "waiting": 45,
    "stats_cost": 10,
    "engine_cost": 10,
    "process_engine": 60,
    "worker_start": 120,
    "kills": 90,
    "map_style": 600,
    "image_text": 500,
    "agreement": 30,
    "run": 1700,
}
"""The modules and about how many seconds they take."""

WITHOUT_PHOTOGRAPHS = (
    "order",
    "restore",
    "shuffle_quality",
    "engine_cost",
    "process_engine",
    "worker_start",
    "kills",
    "agreement",
    "shared_list",
)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    args = parser.parse_args()
    data.photographs(args)
    if not args.quick:
        print(f"About {sum(BENCHMARKS[name] for name in args.only) / 60:.0f} minutes", flush=True)
    failed = []
    for name in args.only:
        began = time.perf_counter()
        paths = (
            [] if name in WITHOUT_PHOTOGRAPHS else ["--photographs", str(args.photographs), "--home", str(args.home)]
        )
        command = [sys.executable, "-m", f"benchmarks.{name}", *paths, *(["--quick"] if args.quick else [])]
        if subprocess.run(command, cwd=data.ROOT, env=data.environment(), check=False).returncode:
            failed.append(name)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    if not args.quick:
        data.run_module("benchmarks.report")
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
