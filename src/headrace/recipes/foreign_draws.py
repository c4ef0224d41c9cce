"""Whether a function draws from Python's or numpy's global generator, as far as its code tells."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from headrace.recipes.named_values import attribute_of, contents, named_values

MOST_FUNCTIONS = 2000
"""Functions that are looked through."""

OWN_GENERATORS = frozenset(
    {"BitGenerator", "Generator", "MT19937", "PCG64", "Philox", "Random", "RandomState", "SFC64", "SeedSequence",
     "SystemRandom", "default_rng"}
)  # fmt: skip
"""What makes a generator of one's own: code that takes one of these and nothing else of a module is left alone."""

NOT_LOOKED_INTO = ("numpy", "torch", "torchvision", "PIL", "cv2", "headrace", "builtins", "random", "functools")
"""Packages whose functions draw from generators that are dealt with elsewhere, or not at all."""


def foreign_draw(call: Any) -> str | None:
    """The name of the global generator that a callable draws from: "random" or "numpy.random", None if it is not seen.

    Looks through its code, that of its class, of what it holds, and of the functions outside of NOT_LOOKED_INTO that
    it calls by a name: a global one, one that it closes over, or one that it imports itself.
    """
    for part in parts_of_call(call):
        found = generator_behind(part)
        if found is None and isinstance(part, FunctionType):
            found = generator_in(part)
        if found is not None:
            return found
    return None


def parts_of_call(call: Any) -> Iterator[Any]:
    """What a callable is made of, its functions and what it holds, each once."""
    todo, seen = [call], set[int]()
    while todo and len(seen) < MOST_FUNCTIONS:
        one = todo.pop()
        if id(one) in seen or (isinstance(one, FunctionType) and not looks_into(one.__module__)):
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, FunctionType):
            todo += called_by(one)
        elif isinstance(one, MethodType):
            todo += [one.__func__, one.__self__]
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, dict):
            todo += one.values()
        elif not isinstance(one, (str, bytes, int, float, np.ndarray, ModuleType, type(None))):
            todo += parts_of(one)


def looks_into(module: str | None) -> bool:
    """Whether the functions of a module are looked through."""
    return (module or "").partition(".")[0] not in NOT_LOOKED_INTO


def called_by(function: FunctionType) -> Iterator[Any]:
    """Functions that a function names, its defaults, and what it closes over."""
    yield from (value for value in contents(function.__closure__ or ()) if not isinstance(value, ModuleType))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for value, attributes in named_values(function):
        named = attribute_of(value, attributes)
        if isinstance(named, (FunctionType, MethodType, functools.partial)) or is_own_callable(named):
            yield named


def is_own_callable(value: Any) -> bool:
    """Whether a value is a class, or a callable object of a class, whose methods are looked through."""
    cls = value if isinstance(value, type) else type(value)
    return callable(value) and looks_into(cls.__module__)


def parts_of(one: Any) -> Iterator[Any]:
    """The methods of an object's classes, and what it holds."""
    classes = one.__mro__ if isinstance(one, type) else type(one).__mro__
    for cls in classes:
        if looks_into(cls.__module__):
            yield from (under_decorator(value) for value in vars(cls).values())
    if not isinstance(one, type):
        if isinstance(one, functools.partial):
            yield from (one.func, one.args, one.keywords)
        yield from getattr(one, "__dict__", {}).values()


def under_decorator(value: Any) -> FunctionType | None:
    """The function that an attribute of a class is, under `staticmethod`, `classmethod` and `property` too."""
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    return value if isinstance(value, FunctionType) else None


def generator_in(function: FunctionType) -> str | None:
    """The global generator that a function draws from by a name in its code."""
    for value, attributes in named_values(function):
        in_numpy = value is np and attributes[:1] == ["random"]
        taken = attributes[1 if in_numpy else 0 :]
        if (in_numpy or is_module_of_draws(value)) and not OWN_GENERATORS.intersection(taken[:1]):
            return "random" if value is random else "numpy.random"
        if not isinstance(value, ModuleType) and (bound := generator_behind(value)) is not None:
            return bound
        if not in_numpy and attributes and (bound := generator_behind(attribute_of(value, attributes))) is not None:
            return bound
    return None


def is_module_of_draws(value: Any) -> bool:
    """Whether a value is one of the two modules whose functions draw from a global generator."""
    return value is random or value is np.random


def generator_behind(value: Any) -> str | None:
    """The global generator whose method a value is (`random.shuffle`, `np.random.beta`), or whose module it is."""
    if is_module_of_draws(value):
        return "random" if value is random else "numpy.random"
    try:
        owner = getattr(value, "__self__", None)
    except Exception:  # noqa: BLE001 - objects with a `__getattr__` of their own
        return None
    if owner is None:
        return None
    if owner is getattr(random.random, "__self__", None):
        return "random"
    return "numpy.random" if owner is np.random.mtrand._rand else None  # noqa: SLF001 - it has no other name
