from __future__ import annotations

import math

import numpy as np
import pytest

from headrace._base.exact_math import exp


def test_exp_is_within_two_units_in_the_last_place():
    x = np.concatenate([np.linspace(-700, 700, 4001), np.linspace(-1, 1, 4001)])
    expected = np.array([math.exp(value) for value in x])
    assert (np.abs(exp(x) - expected) <= 2 * np.spacing(expected)).all()


def test_exp_of_zero_is_one():
    assert exp(0.0) == 1.0


@pytest.mark.parametrize(("x", "bits"), [(1.0, "0x1.5bf0a8b14576ap+1"), (-0.2876820724517809, "0x1.8000000000000p-1")])
def test_the_bits_do_not_change(x, bits):
    assert float(exp(x)).hex() == bits
