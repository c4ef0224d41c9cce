"""Files that share a name."""

from __future__ import annotations

import pytest

from headrace.errors import SourceError
from headrace.sources.siblings import group_siblings


def test_files_are_grouped_at_the_first_dot():
    found = group_siblings(["README", "__meta__.json", "a.JPG", "a.seg.png", "b.jpg"], "/x", "refuse")
    assert found.samples == {"a": {"jpg": 2, "seg.png": 3}, "b": {"jpg": 4}}
    assert found.num_ignored == 2


def test_dots_that_are_surely_not_meant():
    with pytest.raises(SourceError, match=r"field '001\.jpg' of sample 'img'.*/x/img\.001\.jpg"):
        group_siblings(["img.001.jpg"], "/x", "refuse")
    assert group_siblings(["img.001.jpg"], "/x", "replace").samples == {"img_001": {"jpg": 0}}


def test_two_files_for_one_field():
    with pytest.raises(SourceError, match=r"/x.*'a\.JPG' and 'a\.jpg'"):
        group_siblings(["a.JPG", "a.jpg"], "/x", "refuse")
