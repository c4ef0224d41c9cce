"""Draws of torch that follow a key, while torch's own generators stay as they are.

The thread that enters `OwnDraws` gets its numbers from generators of its own, whatever torch function it calls; all
other threads, the trainer's above all, draw from torch's as ever. That is why the global generator is not simply
seeded and put back: it belongs to the whole process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from headrace.recipes.generators import GENERATORS

WITH_GENERATOR = frozenset(
    {
        "_sample_dirichlet",
        "_standard_gamma",
        "bernoulli",
        "bernoulli_",
        "binomial",
        "cauchy_",
        "exponential_",
        "geometric_",
        "log_normal_",
        "multinomial",
        "normal",
        "normal_",
        "poisson",
        "rand",
        "randint",
        "randn",
        "random_",
        "randperm",
        "uniform_",
    }
)
"""Functions and methods of torch (2.4 to 2.14) that take `generator=`."""

WITHOUT_GENERATOR = frozenset(
    {
        "alpha_dropout",
        "alpha_dropout_",
        "dropout",
        "dropout_",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "feature_alpha_dropout",
        "feature_dropout",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "gumbel_softmax",
        "native_dropout",
        "rand_like",
        "randint_like",
        "randn_like",
        "rrelu",
        "rrelu_",
    }
)
"""Functions that only know the global generator."""

ONE_AT_A_TIME = threading.RLock()
"""Who borrows the global generators holds this."""


class OwnDraws(TorchFunctionMode):
    """What the thread draws inside of a `with` block follows a key.

    Functions of torch that only know the global generator borrow it: it is seeded, used and put back. If another
    thread draws from it in that very moment, both get other numbers; nothing else is left of it.

    Args:
        key: 64 bits.
    """

    def __init__(self, key: int) -> None:
        super().__init__()
        self.key = key
        self.generators: dict[str, torch.Generator] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Runs one function of torch."""
        options = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in WITH_GENERATOR and options.get("generator") is None:
            options["generator"] = self.generator(device_type(args, options))
        elif name in WITHOUT_GENERATOR:
            seed = int(torch.randint(2**62, (), generator=self.generator("cpu")))
            with ONE_AT_A_TIME, GENERATORS.kept():
                torch.default_generator.manual_seed(seed)
                return func(*args, **options)
        return func(*args, **options)

    def generator(self, device: str) -> torch.Generator:
        """The generator for a kind of device."""
        if device not in self.generators:
            self.generators[device] = torch.Generator(device).manual_seed(self.key)
        return self.generators[device]


def device_type(args: Sequence[Any], options: Mapping[str, Any]) -> str:
    """Where a function draws: where it is told to, or where its tensors are."""
    asked = options.get("device")
    if asked is not None:
        return torch.device(asked).type
    return next((one.device.type for one in args if isinstance(one, torch.Tensor)), "cpu")
