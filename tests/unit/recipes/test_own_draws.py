"""Draws of torch that follow a key, and generators of torch that nobody touches."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.nn import functional
from torchvision.transforms import v2

from headrace.recipes.own_draws import WITH_GENERATOR, WITHOUT_GENERATOR, OwnDraws

HALF = torch.full((40,), 0.5)
PLANES = torch.ones(2, 6, 8, 8)
DRAWS = {
    "_sample_dirichlet": lambda: torch._sample_dirichlet(torch.ones(4, 3)),
    "_standard_gamma": lambda: torch._standard_gamma(torch.ones(9)),
    "bernoulli": lambda: (torch.bernoulli(HALF), HALF.bernoulli()),
    "bernoulli_": lambda: torch.empty(40).bernoulli_(0.5),
    "binomial": lambda: torch.binomial(torch.full((9,), 50.0), torch.full((9,), 0.5)),
    "cauchy_": lambda: torch.empty(9).cauchy_(),
    "exponential_": lambda: torch.empty(9).exponential_(),
    "geometric_": lambda: torch.empty(40).geometric_(0.1),
    "log_normal_": lambda: torch.empty(9).log_normal_(),
    "multinomial": lambda: (torch.multinomial(HALF, 9), HALF.multinomial(9)),
    "normal": lambda: torch.normal(torch.zeros(9), 1.0),
    "normal_": lambda: torch.empty(9).normal_(),
    "poisson": lambda: torch.poisson(torch.full((9,), 50.0)),
    "rand": lambda: torch.rand(9),
    "randint": lambda: (torch.randint(1 << 30, (9,)), torch.randint(5, 1 << 30, (9,))),
    "randn": lambda: torch.randn(9),
    "random_": lambda: torch.empty(9).random_(),
    "randperm": lambda: torch.randperm(40),
    "uniform_": lambda: torch.empty(9).uniform_(),
    "alpha_dropout": lambda: functional.alpha_dropout(PLANES, training=True),
    "alpha_dropout_": lambda: torch.alpha_dropout_(PLANES.clone(), 0.5, True),
    "dropout": lambda: functional.dropout(PLANES),
    "dropout_": lambda: torch.dropout_(PLANES.clone(), 0.5, True),
    "dropout1d": lambda: functional.dropout1d(torch.ones(30, 5)),
    "dropout2d": lambda: functional.dropout2d(torch.ones(4, 9, 2, 2)),
    "dropout3d": lambda: functional.dropout3d(torch.ones(4, 9, 2, 2, 2)),
    "feature_alpha_dropout": lambda: functional.feature_alpha_dropout(torch.ones(4, 9, 2), training=True),
    "feature_dropout": lambda: torch.feature_dropout(torch.ones(9, 9, 2), 0.5, True),
    "fractional_max_pool2d": lambda: functional.fractional_max_pool2d(torch.arange(5000.0).view(2, 25, 10, 10), 2, 4),
    "fractional_max_pool3d": lambda: functional.fractional_max_pool3d(torch.arange(5e3).view(5, 1, 10, 10, 10), 2, 4),
    "gumbel_softmax": lambda: functional.gumbel_softmax(torch.zeros(9)),
    "native_dropout": lambda: torch.native_dropout(PLANES, 0.5, True),
    "rand_like": lambda: torch.rand_like(HALF),
    "randint_like": lambda: torch.randint_like(HALF, 1 << 20),
    "randn_like": lambda: torch.randn_like(HALF),
    "rrelu": lambda: functional.rrelu(-PLANES, training=True),
    "rrelu_": lambda: functional.rrelu_(-PLANES, training=True),
}


def equal(one, other):
    if isinstance(one, (tuple, list)):
        return all(map(equal, one, other))
    return torch.equal(one, other)


def test_every_function_has_its_case():
    assert set(DRAWS) == WITH_GENERATOR | WITHOUT_GENERATOR


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_draws_follow_the_key_and_leave_the_global_generator_alone(name):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    with OwnDraws(7):
        first, second = DRAWS[name](), DRAWS[name]()
    torch.rand(3)
    between = torch.get_rng_state()
    with OwnDraws(7):
        again = DRAWS[name]()
    with OwnDraws(8):
        other = DRAWS[name]()
    assert equal(first, again)
    assert not equal(first, second)
    assert not equal(first, other)
    assert torch.equal(torch.get_rng_state(), between)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "call",
    [
        lambda: v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.arange(4) % 3),
        lambda: v2.CutMix(num_classes=3)(torch.rand(4, 3, 8, 8), torch.arange(4) % 3),
        lambda: torch.distributions.Beta(0.3, 0.3).sample((5,)),
        lambda: torch.nn.Dropout(0.5)(PLANES),
        lambda: v2.RandomErasing(p=1.0)(torch.ones(3, 32, 32)),
    ],
)
def test_what_is_made_of_several_draws_follows_too(call):
    before = torch.get_rng_state()
    results = []
    for key in (5, 5, 6):
        with OwnDraws(key):
            results.append(call())
    assert equal(results[0], results[1])
    assert not equal(results[0], results[2])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_generator_of_ones_own_is_used():
    with OwnDraws(1):
        one = torch.rand(3, generator=torch.Generator().manual_seed(9))
    assert torch.equal(one, torch.rand(3, generator=torch.Generator().manual_seed(9)))


def test_another_thread_draws_as_if_alone():
    torch.manual_seed(3)
    alone = [torch.rand(1).item() for _ in range(4000)]
    stop = threading.Event()

    def work():
        while not stop.is_set():
            with OwnDraws(11):
                v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.arange(4) % 3)

    thread = threading.Thread(target=work)
    torch.manual_seed(3)
    thread.start()
    try:
        beside = [torch.rand(1).item() for _ in range(4000)]
    finally:
        stop.set()
        thread.join()
    assert beside == alone
