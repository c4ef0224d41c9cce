"""Code that draws from generators of the whole process is seen."""

from __future__ import annotations

import functools
import random
import sys
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


def imports_inside(batch):
    import random

    return random.random() * batch


def imports_from_numpy_inside(batch):
    from numpy import random as r

    return r.rand() * batch


def imports_by_another_name_inside(batch):
    import numpy.random as nr

    return nr.rand() * batch


def imports_numpy_random_inside(batch):
    import numpy.random

    return numpy.random.rand() * batch


def imports_a_function_inside(batch):
    from random import gauss as g

    return g(0, 1) * batch


def imports_two_inside(batch):
    from random import Random, shuffle

    rng = Random(0)
    shuffle(batch)
    return rng, batch


def imports_inside_with_a_fallback(batch):
    try:
        import random as r
    except ImportError:
        r = None
    return r.random() * batch


def imports_its_own_inside(batch):
    import random

    from numpy.random import default_rng

    return default_rng(0).random() * random.Random(0).random() * batch


def imports_and_never_draws(batch):
    import random  # noqa: F401

    import numpy as np

    return np.asarray(batch)


def inner_function_uses_the_import(batch):
    import random as r

    def inner(one):
        return one * r.random()

    return [inner(one) for one in batch]


def inner_function_makes_its_own(batch):
    import random as r

    def inner(one):
        return one * r.Random(0).random()

    return [inner(one) for one in batch]


def closes_over_an_import():
    import random as r

    return lambda batch: r.random() * batch


def closes_over_a_quiet_import():
    import random as r

    return lambda batch: r.Random(0).random() * batch


def closes_over_a_later_cell():
    def early(batch):
        return later(batch)

    def later(batch):
        return np.random.rand() * batch

    return early


def calls_one_that_imports(batch):
    return imports_inside(batch)


def imports_one_that_draws(batch):
    from tests.unit.recipes.test_foreign_draws import helper as h

    return h() * batch


def draws_by_default(batch, *, draw=random.random):
    return draw() * batch


class ImportsInAMethod:
    @staticmethod
    def amount():
        import random

        return random.random()

    def __call__(self, batch):
        return self.amount() * batch


class Holds:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, batch):
        return self.rng.random() * batch


MIXER = Mixer(1)
THIS = sys.modules[__name__]


def local_of_the_same_name(random):
    return random.random()


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
        (imports_inside, "random"),
        (imports_from_numpy_inside, "numpy.random"),
        (imports_by_another_name_inside, "numpy.random"),
        (imports_numpy_random_inside, "numpy.random"),
        (imports_a_function_inside, "random"),
        (imports_two_inside, "random"),
        (imports_inside_with_a_fallback, "random"),
        (imports_its_own_inside, None),
        (imports_and_never_draws, None),
        (inner_function_uses_the_import, "random"),
        (inner_function_makes_its_own, None),
        (closes_over_an_import(), "random"),
        (closes_over_a_quiet_import(), None),
        (closes_over_a_later_cell(), "numpy.random"),
        (calls_one_that_imports, "random"),
        (imports_one_that_draws, "random"),
        (draws_by_default, "random"),
        (ImportsInAMethod(), "random"),
        (Holds(random), "random"),
        (Holds(np.random), "numpy.random"),
        (Holds(random.Random(0)), None),
        (Holds(np.random.default_rng(0)), None),
        (functools.partial(random.gauss, 0), "random"),
        (lambda batch: MIXER(batch), "numpy.random"),  # noqa: PLW0108
        (lambda batch: THIS.helper() * batch, "random"),
        (local_of_the_same_name, None),
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
