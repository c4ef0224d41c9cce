"""Real functions from IEEE double operations alone: the same bits on every machine, in numpy and in the kernel.

`numpy.exp` and the C library's `exp` may differ in the last place between versions and processors, and one such
difference moves a random crop by a pixel.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

LOG2_E = 1.4426950408889634
LN2_HIGH = float.fromhex("0x1.62e42feep-1")
"""The upper 32 bits of ln 2: its product with a whole number under 2^20 is exact."""
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
COEFFICIENTS = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
"""The Taylor series of e^r, highest power first; for |r| <= ln(2)/2 what is left out is under 2^-57."""


def exp(x: npt.ArrayLike) -> F64:
    """e^x for |x| <= 700, within 2 units in the last place. Same bits as `exact_exp` in `native/random/`.

    The argument is split into `whole * ln 2 + rest` (Cody and Waite 1980, "Software manual for the elementary
    functions"), the series of `rest` is summed by Horner's rule, and the power of two is put back, which is exact.
    """
    values = np.asarray(x, dtype=np.float64)
    whole = np.rint(values * LOG2_E)
    rest = (values - whole * LN2_HIGH) - whole * LN2_LOW
    total = np.zeros_like(values)
    for coefficient in COEFFICIENTS:
        total = total * rest + coefficient
    return np.ldexp(total, whole.astype(np.int32))
