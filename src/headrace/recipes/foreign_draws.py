"""Whether a function draws from Python's or numpy's global generator, as far as its code tells."""

from __future__ import annotations

import dis
import functools
import random
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

MOST_FUNCTIONS = 2000
"""Functions that are looked through."""

OWN_GENERATORS = frozenset(
    {"BitGenerator", "Generator", "MT19937", "PCG64", "Philox", "Random", "RandomState", "SFC64", "SeedSequence",
     "SystemRandom", "default_rng"}
)  # fmt: skip
"""What makes a generator of one's own: code that takes one of these and nothing else of a module is left alone."""

PASSED_OVER = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL"})
"""Instructions that may stand between a name and its attributes."""

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
        for part in parts_of_code(code):
            found = generator_in(part, function.__globals__)
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
    return (part.co_names for part in parts_of_code(code))


def parts_of_code(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from parts_of_code(constant)


def generator_in(code: CodeType, variables: dict[str, Any]) -> str | None:
    """The global generator that code draws from, those inside of it not counted."""
    for name, *attributes in dotted_names(code):
        value = variables.get(name)
        if (bound := generator_behind(value)) is not None:
            return bound
        in_numpy = value is np and attributes[:1] == ["random"]
        taken = attributes[1 if in_numpy else 0 :]
        if (in_numpy or value is np.random or value is random) and not OWN_GENERATORS.intersection(taken[:1]):
            return "random" if value is random else "numpy.random"
    return None


def dotted_names(code: CodeType) -> Iterator[list[str]]:
    """What stands in code as `name.attribute.attribute`, from a global name on."""
    names = list[str]()
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            if names:
                yield names
            names = [instruction.argval]
        elif instruction.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            names += [instruction.argval] if names else []
        elif names and instruction.opname not in PASSED_OVER:
            yield names
            names = []
    if names:
        yield names


def generator_behind(value: Any) -> str | None:
    """The global generator whose method a function is: `random.shuffle`, `np.random.beta`."""
    owner = getattr(value, "__self__", None)
    if owner is None:
        return None
    if owner is getattr(random.random, "__self__", None):
        return "random"
    return "numpy.random" if owner is np.random.mtrand._rand else None  # noqa: SLF001 - it has no other name
