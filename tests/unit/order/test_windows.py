"""Windows cover a share, and their fast shuffle is the permutation of each window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.order.keys import window_keys
from headrace.order.permutation import permutation
from headrace.order.windows import Windows, WindowShuffle


@given(length=st.integers(0, 2000), at_least=st.integers(1, 500))
def test_windows_cover_the_share_evenly(length, at_least):
    windows = Windows(length=length, at_least=at_least)
    starts = windows.start(np.arange(windows.num + 1))
    sizes = np.diff(starts)
    assert (starts[0], starts[-1]) == (0, length)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.max() == windows.largest
    assert length < at_least or (at_least <= sizes.min() and sizes.max() < 2 * at_least)
    positions = np.arange(length)
    expected = np.searchsorted(starts[1:], positions, side="right")
    assert np.array_equal(windows.index(positions), expected)


def slow_shuffle(windows: Windows, seed: int, epoch: int, node: int) -> np.ndarray:
    parts = []
    for window in range(windows.num):
        start, end = (int(windows.start(np.int64(window + i))) for i in (0, 1))
        inside = permutation(end - start, int(window_keys(seed, epoch, node, np.int64(window))))
        parts.append(start + inside.at(np.arange(end - start, dtype=np.int64)))
    return np.concatenate(parts)


@settings(max_examples=60, deadline=None)
@given(length=st.integers(1, 30_000), at_least=st.integers(1, 20_000), data=st.data())
def test_windows_are_shuffled_each_by_its_permutation(length, at_least, data):
    windows = Windows(length=length, at_least=max(at_least, length // 500))
    shuffle = WindowShuffle(windows, 1, 2, 3)
    positions = np.array(data.draw(st.lists(st.integers(0, length - 1), max_size=50)), dtype=np.int64)
    assert np.array_equal(shuffle.at(positions), slow_shuffle(windows, 1, 2, 3)[positions])


@pytest.mark.parametrize("at_least", [1, 2, 1022, 1023, 1024, 1025, 70_000])
def test_windows_around_the_threshold_are_shuffled_each_by_its_permutation(at_least):
    windows = Windows(length=3 * at_least + 2, at_least=at_least)
    positions = np.arange(windows.length, dtype=np.int64)
    assert np.array_equal(WindowShuffle(windows, 1, 2, 3).at(positions), slow_shuffle(windows, 1, 2, 3))


@given(length=st.integers(1, 2000), at_least=st.integers(1, 500), data=st.data())
def test_the_number_of_one_position_is_its_index(length, at_least, data):
    windows = Windows(length=length, at_least=at_least)
    position = data.draw(st.integers(0, length - 1))
    assert windows.number(position) == int(windows.index(np.array([position]))[0])
