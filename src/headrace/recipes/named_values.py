"""What the names in a function's code stand for: globals, what it closes over, and what it imports itself."""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any

PASSED_OVER = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL"})
"""Instructions that may stand between a name and its attributes."""

BETWEEN_IMPORT_AND_NAME = PASSED_OVER | {"SWAP", "POP_TOP", "ROT_TWO", "COPY"}
"""Instructions that may stand between an import and the name that it is stored under (`import a.b as c`)."""

Named = tuple[Any, list[str]]
"""A value, and the attributes that code takes from it, outermost first."""


def named_values(function: FunctionType) -> Iterator[Named]:
    """What a function and the functions inside of it name, as far as its code tells.

    Variables that code computes are left out; one that an import may have set is what the import gives.
    """
    closed = dict(zip(function.__code__.co_freevars, contents(function.__closure__ or ()), strict=True))
    yield from in_code(function.__code__, function.__globals__, closed)


def in_code(code: CodeType, variables: Mapping[str, Any], outer: Mapping[str, Any]) -> Iterator[Named]:
    """What code names, given the global variables and those of the functions around it."""
    local = {name: outer[name] for name in code.co_freevars if name in outer} | imported_in(code, variables)
    for (scope, name), attributes in dotted_names(code):
        if scope != "GLOBAL" and name in local:
            yield local[name], attributes
        elif scope in {"GLOBAL", "NAME"}:
            yield variables.get(name, vars(builtins).get(name)), attributes
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from in_code(constant, variables, local)


def attribute_of(value: Any, attributes: Iterable[str]) -> Any:
    """What attributes of a module lead to, as far as they are modules themselves; nothing is imported for it."""
    for attribute in attributes:
        if not isinstance(value, ModuleType):
            break
        value = member(value, attribute)
    return value


def contents(cells: Iterable[Any]) -> Iterator[Any]:
    """What the cells of a closure hold, None where there is nothing yet."""
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:
            yield None


def imported_in(code: CodeType, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables that imports inside of code set: `import a.b as c`, `from a import b`."""
    found = dict[str, Any]()
    module: Any = None
    current: Any = None
    steps_down = False
    before: list[Any] = []
    for instruction in dis.get_instructions(code):
        operation = instruction.opname
        if operation == "IMPORT_NAME":
            level, names = before[-2:] if len(before) > 1 else (0, None)
            steps_down = names is None
            module = current = module_named(instruction.argval, level, variables, top=steps_down)
        elif operation == "IMPORT_FROM":
            current = member(current if steps_down else module, instruction.argval)
        elif operation.startswith("STORE_") and current is not None:
            found[first_name(instruction.argval)] = current
            current = None
        elif operation not in BETWEEN_IMPORT_AND_NAME:
            current = None
        before = [*before[-1:], instruction.argval] if operation.startswith("LOAD_") else before
    return found


def module_named(name: str, level: int, variables: Mapping[str, Any], *, top: bool) -> Any:
    """A module that has been imported before, None for others; `import a.b` names `a`, from its top on."""
    if level:
        package = variables.get("__package__") or str(variables.get("__name__", "")).rpartition(".")[0]
        try:
            return sys.modules.get(resolve_name("." * level + name, package))
        except ImportError:
            return None
    return sys.modules.get(name.partition(".")[0] if top else name)


def member(module: Any, name: str) -> Any:
    """What a module holds under a name, without running a `__getattr__` of it."""
    if not isinstance(module, ModuleType):
        return None
    return vars(module).get(name, sys.modules.get(f"{module.__name__}.{name}"))


def first_name(argument: Any) -> str:
    """The variable that an instruction stores first; from Python 3.13 on it may be two at once."""
    return str(argument[0] if isinstance(argument, tuple) else argument)


def dotted_names(code: CodeType) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """What stands in code as `name.attribute.attribute`: (scope, name) and the attributes."""
    cells = {*code.co_cellvars, *code.co_freevars}
    name: tuple[str, str] | None = None
    attributes = list[str]()
    for instruction in dis.get_instructions(code):
        loaded = loaded_by(instruction, cells)
        if loaded:
            yield from ((one, []) for one in loaded[:-1])
        if name is not None and (loaded or instruction.opname not in {"LOAD_ATTR", "LOAD_METHOD"} | PASSED_OVER):
            yield name, attributes
            name = None
        if loaded:
            name, attributes = loaded[-1], []
        elif name is not None and instruction.opname not in PASSED_OVER:
            attributes.append(instruction.argval)
    if name is not None:
        yield name, attributes


def loaded_by(instruction: dis.Instruction, cells: Collection[str]) -> list[tuple[str, str]]:
    """The variables whose values an instruction puts on the stack, each with its scope: GLOBAL, NAME or LOCAL."""
    operation, argument = instruction.opname, instruction.argval
    if operation in {"LOAD_GLOBAL", "LOAD_NAME"}:
        return [(operation.removeprefix("LOAD_"), argument)]
    if operation == "LOAD_FROM_DICT_OR_GLOBALS":
        return [("NAME", argument)]
    if operation.startswith(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")):
        return [("LOCAL", argument)]
    if operation == "STORE_FAST_LOAD_FAST":
        names = argument[1:]
    elif operation.startswith("LOAD_FAST"):
        names = argument if isinstance(argument, tuple) else (argument,)
    else:
        return []
    # From Python 3.13 on a cell is loaded like this, not what it holds, to make a function that closes over it.
    return [("LOCAL", name) for name in names if name not in cells]
