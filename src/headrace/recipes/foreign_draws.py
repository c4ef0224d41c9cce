"""Whether a function draws from Python's or numpy's global generator, as far as its code tells."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

MOST_FUNCTIONS = 2000
"""Functions that are looked through."""

OWN_GENERATORS = frozenset({"Generator", "RandomState", "Random", "default_rng"})
"""What makes a generator of one's own: code that names one of these and nothing else of `random` is left alone."""

NOT_LOOKED_INTO = ("numpy", "torch", "torchvision", "PIL", "cv2", "headrace", "builtins")
"""Packages whose functions draw from generators that are dealt with elsewhere, or not at all."""


def foreign_draw(call: Any) -> str | None:
    """The name of the global generator that a callable draws from: "random" or "numpy.random", None if it is not seen.

    Looks through its code, that of its class, of what it holds, and of the functions of its own package that it calls.
    """
    if (bound := generator_behind(call)) is not None:
        return bound
    for function in functions_of(call):
        code = function.__code__
        for names in names_in(code):
            found = generator_in(names, function.__globals__)
            if found is not None:
                return found
    return None


def functions_of(call: Any) -> Iterator[FunctionType]:
    """The Python functions that a callable is made of, each once."""
    todo, seen = [call], set[int]()
    while todo and len(seen) < MOST_FUNCTIONS:
        one = todo.pop()
        if id(one) in seen or isinstance(one, ModuleType):
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType):
            if looks_into(one.__module__):
                yield one
                todo += called_by(one)
        elif isinstance(one, MethodType):
            todo += [one.__func__, one.__self__]
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, dict):
            todo += one.values()
        elif not isinstance(one, (str, bytes, int, float, np.ndarray, type(None))):
            todo += parts_of(one)


def looks_into(module: str | None) -> bool:
    """Whether the functions of a module are looked through."""
    return (module or "").partition(".")[0] not in NOT_LOOKED_INTO


def called_by(function: FunctionType) -> Iterator[Any]:
    """Functions that a function names, and what it closes over."""
    yield from (cell.cell_contents for cell in function.__closure__ or () if holds_something(cell))
    yield from function.__defaults__ or ()
    for names in names_in(function.__code__):
        for name in names:
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType) or (isinstance(value, type) and looks_into(value.__module__)):
                yield value


def parts_of(one: Any) -> Iterator[Any]:
    """The methods of an object's classes, and what it holds."""
    classes = one.__mro__ if isinstance(one, type) else type(one).__mro__
    for cls in classes:
        if looks_into(cls.__module__):
            yield from (value for value in vars(cls).values() if isinstance(value, FunctionType))
    if not isinstance(one, type):
        if isinstance(one, functools.partial):
            yield from (one.func, one.args, one.keywords)
        yield from getattr(one, "__dict__", {}).values()


def holds_something(cell: Any) -> bool:
    """Whether a cell of a closure has a value yet."""
    try:
        cell.cell_contents  # noqa: B018 - raises where it is empty
    except ValueError:
        return False
    return True


def names_in(code: CodeType) -> Iterator[tuple[str, ...]]:
    """The global names and attributes that a function and those inside of it use."""
    yield code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def generator_in(names: tuple[str, ...], variables: dict[str, Any]) -> str | None:
    """The global generator that is used where these names stand."""
    own = OWN_GENERATORS.intersection(names)
    for name in names:
        value = variables.get(name)
        if (bound := generator_behind(value)) is not None:
            return bound
        if value is random and not own:
            return "random"
        if (value is np.random or (value is np and "random" in names)) and not own:
            return "numpy.random"
    return None


def generator_behind(value: Any) -> str | None:
    """The global generator whose method a function is: `random.shuffle`, `np.random.beta`."""
    owner = getattr(value, "__self__", None)
    if owner is None:
        return None
    if owner is getattr(random.random, "__self__", None):
        return "random"
    return "numpy.random" if owner is np.random.mtrand._rand else None  # noqa: SLF001 - it has no other name
