"""What is said of a set of shards."""

from __future__ import annotations

import pytest

from headrace.pack import advise

GIB = 1 << 30


@pytest.mark.parametrize(
    ("sizes", "ranks", "words"),
    [
        ([2 * GIB] * 8, 8, []),
        ([GIB // 2] * 8, None, ["small"]),
        ([GIB // 2], None, []),
        ([11 * GIB] * 2, None, ["large"]),
        ([2 * GIB] * 3, 8, ["3 shards for 8 ranks"]),
        ([GIB // 4] * 3, 8, ["small", "3 shards for 8 ranks"]),
        ([], None, []),
    ],
)
def test_sizes_and_numbers_that_are_inconvenient_are_named(sizes, ranks, words):
    notes = advise(sizes, ranks)
    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes, strict=True))
