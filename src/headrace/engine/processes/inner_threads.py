"""How many threads the libraries inside a worker process use: cores are shared out between workers, not within them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
"""What OpenMP, MKL, OpenBLAS, BLIS, NumExpr, Numba, Accelerate, OpenCV, Rust libraries (such as tokenizers) and Polars
read when they are loaded; torch goes by the first two."""


def thread_variables(num_threads: int, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a worker: so many threads for each library, or fewer where the user has said so."""
    return {name: str(least(environ.get(name), num_threads)) for name in THREAD_VARIABLES}


def least(said: str | None, num_threads: int) -> int:
    """The smaller one of a variable's number and ours; OpenMP takes lists, "4,2", one number a level."""
    number = (said or "").split(",")[0].strip()
    return min(int(number), num_threads) if number.isdecimal() and int(number) else num_threads


def limit_loaded(num_threads: int) -> None:
    """Tells libraries that are loaded already; imports none.

    The variables have told them before. This is for builds that do not read theirs, and for code that has set another
    number while it was imported. What the user's `worker_init_fn` sets comes later and counts.
    """
    for name, ask, tell in (("torch", "get_num_threads", "set_num_threads"), ("cv2", "getNumThreads", "setNumThreads")):
        library: Any = sys.modules.get(name)
        if hasattr(library, ask) and hasattr(library, tell) and getattr(library, ask)() > num_threads:
            getattr(library, tell)(num_threads)
