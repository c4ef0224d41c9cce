"""Code that draws from generators of the whole process is seen."""

from __future__ import annotations

import functools
import random
from random import shuffle

import numpy as np
import pytest
import torch
from numpy.random import beta
from torchvision.transforms import v2

from headrace.recipes.foreign_draws import foreign_draw

KEPT = random


class Mixer:
    """As other libraries write it: parameters in a method, numbers from numpy."""

    def __init__(self, alpha):
        self.alpha = alpha

    def parameters(self):
        return np.random.beta(self.alpha, self.alpha)

    def __call__(self, batch):
        return batch[0] * self.parameters()


class Inherited(Mixer):
    pass


class Module(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, batch):
        return self.inner(batch)


def helper():
    return KEPT.random()


def closes_over(function):
    return lambda batch: function(batch)  # noqa: PLW0108 - a closure is what is tested


def own_generator(batch, seed=0):
    return np.random.default_rng(seed).random(), random.Random(seed).random(), batch


def own_generator_and_python(batch, seed=0):
    return np.random.default_rng(seed).normal(), random.gauss(0, 1), batch


def own_generator_and_numpy(batch, seed=0):
    return random.Random(seed).random(), np.random.default_rng(np.random.randint(9)).random(), batch


def own_generator_by_name(batch):
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(1)))
    return rng.normal(), rng.random(), batch


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda batch: random.random() * batch, "random"),
        (lambda batch: shuffle(batch), "random"),  # noqa: PLW0108
        (lambda batch: beta(1, 1) * batch, "numpy.random"),
        (lambda batch: [np.random.rand() for _ in batch], "numpy.random"),
        (lambda batch: (helper(), batch), "random"),
        (shuffle, "random"),
        (np.random.permutation, "numpy.random"),
        (Mixer(1), "numpy.random"),
        (Inherited(1), "numpy.random"),
        (Mixer(1).__call__, "numpy.random"),
        (functools.partial(lambda mixer, batch: mixer(batch), Mixer(1)), "numpy.random"),
        (closes_over(Mixer(1)), "numpy.random"),
        (Module(Mixer(1)), "numpy.random"),
        (v2.Compose([v2.Identity(), Mixer(1)]), "numpy.random"),
        (own_generator, None),
        (own_generator_and_python, "random"),
        (own_generator_and_numpy, "numpy.random"),
        (own_generator_by_name, None),
        (v2.MixUp(num_classes=3), None),
        (v2.Compose([v2.CutMix(num_classes=3)]), None),
        (Module(torch.nn.Dropout()), None),
        (torch.stack, None),
        (lambda batch: batch, None),
        (lambda batch: np.asarray(batch).sum(), None),
    ],
)
def test_what_is_seen(call, found):
    assert foreign_draw(call) == found
