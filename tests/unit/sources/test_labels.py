"""Labels of lists."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.errors import SourceError
from headrace.sources.labels import LabelNumbers


def numbered(*pieces):
    labels = LabelNumbers("y", "l.csv", "Mend it.")
    line = 2
    for piece in pieces:
        labels.add(piece, range(line, line + len(piece)))
        line += len(piece)
    found, names = labels.finish()
    return found.tolist(), names


def test_names_are_numbered_in_sorted_order_over_all_pieces():
    assert numbered(["b", "c"], ["a", "b"]) == ([1, 2, 0, 1], ("a", "b", "c"))


def test_numbers_stay_also_as_text():
    assert numbered(["3", "-1"], ["007"]) == ([3, -1, 7], None)
    assert numbered([3, 1], [2]) == ([3, 1, 2], None)
    assert numbered([np.int32(3), np.str_("4")]) == ([3, 4], None)


def test_names_among_numbers_as_text_are_names():
    assert numbered(["1", "x"]) == ([0, 1], ("1", "x"))


@pytest.mark.parametrize("bad", [None, "", True, 1.5, [1], 2**63, -(2**63) - 1, np.uint64(2**63)])
def test_what_is_no_label_is_named_with_its_line(bad):
    with pytest.raises(SourceError, match=r"not a label.*line=4.*Mend it") as caught:
        numbered([1, 2], [bad])
    assert caught.value.where["column"] == "y"


def test_numbers_and_names_do_not_mix():
    with pytest.raises(SourceError, match="names in others"):
        numbered([1], ["x"])


def test_digits_beyond_64_bits_are_names():
    digits = ["9" * 20, "-" + "9" * 5000, "7"]
    assert numbered(digits) == ([sorted(digits).index(one) for one in digits], tuple(sorted(digits)))
    assert numbered([2**63 - 1, -(2**63)]) == ([2**63 - 1, -(2**63)], None)
