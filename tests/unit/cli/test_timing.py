"""What a measured loader delivered."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.cli.timing import Timing, measure, num_rows, together

TWO = np.zeros((2, 3))


class Batches:
    """A loader of a few batches that counts how often it is iterated."""

    def __init__(self, *batches):
        self.batches = batches
        self.num_epochs = 0

    def __iter__(self):
        self.num_epochs += 1
        return iter(self.batches)


def test_the_first_batch_is_not_counted_and_one_more_always_is():
    assert measure(Batches([np.zeros(3), np.zeros(3)], [np.zeros(2), np.zeros(2)]), 0).num_samples == 2


def test_a_loader_of_one_batch_is_iterated_again():
    loader = Batches([np.zeros(3)])
    assert measure(loader, 0).num_samples == 3
    assert loader.num_epochs == 2


@pytest.mark.parametrize("batch", [[TWO, TWO], (TWO,), {"jpg": TWO, "cls": TWO}, {"a": (TWO, TWO)}, TWO])
def test_rows_of_batches_of_any_shape(batch):
    assert num_rows(batch) == 2


def test_rounds_are_added_up():
    one = Timing(num_samples=10, time_s=1.0, first_batch_s=0.5)
    two = Timing(num_samples=30, time_s=1.0, first_batch_s=0.2)
    assert together([one, two]) == Timing(num_samples=40, time_s=2.0, first_batch_s=0.2)
    assert together([one, two]).samples_per_s == 20
