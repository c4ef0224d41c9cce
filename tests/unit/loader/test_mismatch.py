"""What differs between ranks is named with every value, the most telling field first."""

from __future__ import annotations

import pickle

from headrace.loader.mismatch import mismatch


def test_fields_that_agree_are_not_named():
    error = mismatch({0: {"seed": 1, "epoch": 2}, 1: {"seed": 1, "epoch": 3}}, rank=1)
    assert error.what.endswith(": epoch")
    assert error.got == "epoch: 2 (rank 0), 3 (rank 1)"
    assert error.where == {"rank": 1}


def test_the_dataset_comes_before_what_follows_from_it():
    facts = {"window_samples": 10, "fingerprint": "a", "num_samples": 10}
    error = mismatch({0: facts, 1: facts | {"window_samples": 9, "fingerprint": "b", "num_samples": 9}}, rank=0)
    assert error.what.endswith(": num_samples, fingerprint, window_samples")
    assert "whole dataset" in error.remedy


def test_ranks_are_put_together_in_runs():
    facts = {rank: {"seed": rank in (3, 7, 8, 9)} for rank in range(12)}
    assert mismatch(facts, rank=0).got == "seed: False (ranks 0-2, 4-6, 10-11), True (ranks 3, 7-9)"


def test_a_field_that_a_rank_lacks_differs():
    assert mismatch({0: {"seed": 1}, 1: {}}, rank=0).got == "seed: 1 (rank 0), None (rank 1)"


def test_ranks_that_differ_no_more_are_told_what_happened():
    error = mismatch({0: {"epoch": 1}, 1: {"epoch": 1}}, rank=0)
    assert "opened it alone" in error.what
    assert "peek()" in error.remedy


def test_it_survives_pickling():
    error = mismatch({0: {"seed": 1}, 1: {"seed": 2}}, rank=0)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
