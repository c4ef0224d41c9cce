"""How far permutations are from random ones: statistics whose distribution over random permutations is known.

Each takes tables of shape (permutations, elements) and returns a number that is close to standard normal if the tables
are random permutations: beyond five either way, they are not. What each of them sees is told by the weak permutations
in `test_disorder.py`.

Sources: Knuth, "The Art of Computer Programming" 2, 3.3.2 (patterns, serial correlation) and 3, 5.1 (inversions,
ascents); Patarin 2001, "Generic attacks on Feistel schemes" (matches); Wilson and Hilferty 1931 (chi-squared to
normal); Anscombe 1948 (Poisson to normal).
"""

from __future__ import annotations

import itertools

import numpy as np

NUM_FOR_INVERSIONS = 4
"""Counting inversions is slow: a few permutations are enough."""


def from_chi_squared(value: float, freedom: float) -> float:
    """Wilson and Hilferty: the cube root of a chi-squared variable is nearly normal."""
    spread = 2 / (9 * freedom)
    return float(((value / freedom) ** (1 / 3) - 1 + spread) / np.sqrt(spread))


def from_poisson(count: int, mean: float) -> float:
    """Anscombe: the root of a Poisson variable is nearly normal."""
    return float(2 * (np.sqrt(count + 3 / 8) - np.sqrt(mean + 3 / 8)))


def chi_squared(counts: np.ndarray, expected: np.ndarray | float) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def fixed_points(tables: np.ndarray) -> float:
    """Elements at their own place: one a permutation on average."""
    return from_poisson(int((tables == np.arange(tables.shape[1])).sum()), len(tables))


def neighbours(tables: np.ndarray) -> float:
    """Elements that stay beside a neighbour: two a permutation on average."""
    size = tables.shape[1]
    return from_poisson(int((np.abs(np.diff(tables)) == 1).sum()), len(tables) * 2 * (size - 1) / size)


def differences(tables: np.ndarray, lag: int = 1) -> float:
    """Differences of elements `lag` apart, modulo the size: uniform on 1 to size - 1."""
    size = tables.shape[1]
    num_bins = min(256, size - 1)
    values = (tables[:, lag:] - tables[:, :-lag]) % size - 1
    counts = np.bincount((values * num_bins // (size - 1)).ravel(), minlength=num_bins)
    room = np.bincount(np.arange(size - 1) * num_bins // (size - 1), minlength=num_bins) / (size - 1)
    return from_chi_squared(chi_squared(counts, room * values.size), num_bins - 1)


def ascents(tables: np.ndarray) -> float:
    """Elements larger than the one before, which is one less than the runs: Eulerian numbers."""
    size = tables.shape[1]
    count = int((np.diff(tables) > 0).sum())
    return float((count - len(tables) * (size - 1) / 2) / np.sqrt(len(tables) * (size + 1) / 12))


def patterns(tables: np.ndarray) -> float:
    """How four successive elements are ordered: 24 patterns, equally likely, blocks independent of each other."""
    blocks = tables[:, : tables.shape[1] // 4 * 4].reshape(-1, 4)
    ranks = (blocks[:, :, None] > blocks[:, None, :]).sum(axis=2)
    digits = np.array([64, 16, 4, 1])
    counts = np.bincount(ranks @ digits, minlength=256)[np.array(list(itertools.permutations(range(4)))) @ digits]
    return from_chi_squared(chi_squared(counts, len(blocks) / 24), 23)


def inversions(tables: np.ndarray) -> float:
    """Pairs in the wrong sequence: n(n-1)/4 on average, with variance n(n-1)(2n+5)/72."""
    size, few = tables.shape[1], tables[:NUM_FOR_INVERSIONS]
    surplus = sum(count_inversions(table) for table in few) - len(few) * size * (size - 1) / 4
    return float(surplus / np.sqrt(len(few) * size * (size - 1) * (2 * size + 5) / 72))


def count_inversions(table: np.ndarray) -> int:
    """Bit by bit: of the elements that agree above a bit, those with the bit set that come before one without."""
    count = 0
    for bit in range(int(table.max()).bit_length()):
        prefix = table >> (bit + 1)
        ordered = np.argsort(prefix, kind="stable")
        prefix, ones = prefix[ordered], (table[ordered] >> bit) & 1
        before = np.cumsum(ones) - ones
        first = np.searchsorted(prefix, prefix)  # where the group of each element begins
        count += int((before - before[first])[ones == 0].sum())
    return count


def correlation(tables: np.ndarray) -> float:
    """Correlation of place and element (Spearman's): variance 1/(n-1)."""
    size = tables.shape[1]
    middle, variance = (size - 1) / 2, (size * size - 1) / 12
    products = ((np.arange(size) - middle) * (tables - middle)).mean(axis=1) / variance
    return float(products.sum() * np.sqrt((size - 1) / len(tables)))


def serial_correlation(tables: np.ndarray) -> float:
    """Correlation of an element and the next: mean -1/n, variance close to 1/n."""
    size = tables.shape[1]
    middle, variance = (size - 1) / 2, (size * size - 1) / 12
    products = ((tables[:, 1:] - middle) * (tables[:, :-1] - middle)).sum(axis=1) / variance / size
    return float((products + 1 / size).sum() * np.sqrt(size / len(tables)))


def places(tables: np.ndarray) -> float:
    """Place against element on a grid, each permutation by itself: (grid - 1)^2 degrees of freedom."""
    grid, counts = on_grid(tables)
    size = tables.shape[1]
    value = chi_squared(counts, room_on_grid(size, grid)) * (size - 1) / size
    return from_chi_squared(value, len(tables) * (grid - 1) ** 2)


def places_over_keys(tables: np.ndarray) -> float:
    """The same for all permutations together: whether some places prefer some elements."""
    grid, counts = on_grid(tables)
    size = tables.shape[1]
    value = chi_squared(counts.sum(axis=0), room_on_grid(size, grid) * len(tables)) * (size - 1) / size
    return from_chi_squared(value, (grid - 1) ** 2)


def on_grid(tables: np.ndarray) -> tuple[int, np.ndarray]:
    """Side of the grid and the counts, shape (permutations, side, side): eight in a cell, 32 cells a side at most."""
    num, size = tables.shape
    grid = max(2, min(32, int(np.sqrt(size / 8))))
    cells = (np.arange(size) * grid // size) * grid + tables * grid // size
    flat = np.arange(num)[:, None] * grid * grid + cells
    return grid, np.bincount(flat.ravel(), minlength=num * grid * grid).reshape(num, grid, grid)


def room_on_grid(size: int, grid: int) -> np.ndarray:
    room = np.bincount(np.arange(size) * grid // size, minlength=grid)
    return room[:, None] * room[None, :] / size


def matches(tables: np.ndarray) -> float:
    """Pairs of places with equal low halves whose high halves differ as the high halves of their elements do.

    A Feistel network of few rounds makes more of them than chance, because equal halves stay equal for a round. For
    sizes that are powers of four.
    """
    num, size = tables.shape
    side = int(np.sqrt(size))
    low, high = np.arange(size) % side, np.arange(size) // side
    cells = low * side + (high ^ (tables // side))
    flat = np.arange(num)[:, None] * size + cells
    counts = np.bincount(flat.ravel(), minlength=num * size)
    mean = num * side * (side * (side - 1) / 2) * side / (size - 1)
    return from_poisson(int((counts * (counts - 1) // 2).sum()), mean)


def joint(heads: np.ndarray, size: int) -> float:
    """Elements at two places, over many keys, in eight bins each: all 64 equally likely.

    Args:
        heads: Elements at the two places for each key, shape (keys, 2).
        size: Of the permutations.
    """
    first, second = (heads * 8 // size).T
    counts = np.bincount(first * 8 + second, minlength=64)
    return from_chi_squared(chi_squared(counts, len(heads) / 64), 63)


STATISTICS = {
    function.__name__: function
    for function in (
        fixed_points,
        neighbours,
        differences,
        ascents,
        patterns,
        inversions,
        correlation,
        serial_correlation,
        places,
        places_over_keys,
    )
}
"""What any table can be asked."""
