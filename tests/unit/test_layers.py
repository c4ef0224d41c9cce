"""Who imports whom: the rows of docs/design/architecture.md, read from the sources without running them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "headrace"

ROWS = {
    "_native": 0,
    "contracts": 0,
    "errors": 0,
    "_base": 1,
    "codecs": 2,
    "engine": 2,
    "order": 2,
    "recipes": 2,
    "shards": 2,
    "sources": 2,
    "storage": 2,
    "cache": 3,
    "datasets": 3,
    "feed": 3,
    "loader": 4,
    "diagnose": 5,
    "pack": 5,
    "wds": 5,
    "tune": 6,
    "cli": 7,
}
"""A package imports strictly lower rows; the face of the whole (`__init__`, `__main__`) and `testing` stand outside."""

OUTSIDE = {"__init__", "__main__", "testing"}
TORCH_ANYWHERE = {"recipes", "engine", "datasets", "feed", "loader", "wds", "testing"}
TORCH_IN_FUNCTIONS = {"codecs", "diagnose", "cli"}
NATIVE_USERS = {"_base", "shards", "storage", "codecs", "recipes", "engine", "datasets"}
PLAIN_FOUNDATION = {"numpy"}
"""What rows 0 may import beside the standard library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module or name, and whether the import runs when the module is loaded."""

    source: str
    target: str
    at_load: bool
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))} | {
    "headrace._native": SOURCE / "_native.pyi"
}


def nodes(body: list[ast.stmt], *, at_load: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements, each with whether it runs when the module is loaded."""
    for node in body:
        yield node, at_load
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or typing_only
        for part in ("body", "orelse", "finalbody"):
            yield from nodes(getattr(node, part, []), at_load=at_load and not deferred)
        for branch in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from nodes(branch.body, at_load=at_load and not deferred)


def targets(node: ast.stmt, source: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    root = node.module or ""
    if node.level:
        is_package = MODULES[source].name == "__init__.py"
        parts = source.split(".")
        root = ".".join([*parts[: len(parts) - node.level + is_package], *([root] if root else [])])
    return [f"{root}.{alias.name}" for alias in node.names]


def imports_of(source: str) -> list[Import]:
    tree = ast.parse(MODULES[source].read_text())
    return [
        Import(source=source, target=target, at_load=at_load, line=node.lineno)
        for node, at_load in nodes(tree.body, at_load=True)
        for target in targets(node, source)
    ]


IMPORTS = [one for source in MODULES if source != "headrace._native" for one in imports_of(source)]
OWN = [one for one in IMPORTS if one.target.split(".")[0] == "headrace"]


def part(name: str) -> str:
    """Package or module right under headrace that a dotted name lies in."""
    return [*name.split("."), "__init__"][1]


def own_module(target: str) -> str:
    """The module behind `from module import name` (or the module itself)."""
    return target if target in MODULES else target.rpartition(".")[0]


def test_every_part_has_a_row():
    parts = {part(name) for name in MODULES} - OUTSIDE
    assert parts <= set(ROWS), f"give a row here and in docs/design/architecture.md to: {parts - set(ROWS)}"


def test_own_imports_exist():
    assert [str(one) for one in OWN if own_module(one.target) not in MODULES] == []


def test_imports_go_down():
    wrong = [
        str(one)
        for one in OWN
        if part(one.source) not in OUTSIDE
        and part(one.source) != part(own_module(one.target))
        # The bare package holds the version and lazy names: importing from it would go through the roof.
        and (part(own_module(one.target)) in OUTSIDE or ROWS[part(own_module(one.target))] >= ROWS[part(one.source)])
        and one.target != "headrace.__version__"
    ]
    assert wrong == []


def test_native_module_has_its_owners():
    wrong = [str(one) for one in OWN if part(one.target) == "_native" and part(one.source) not in NATIVE_USERS]
    assert wrong == []


def test_foundation_is_plain():
    allowed = PLAIN_FOUNDATION | {"headrace", "__future__"} | set(sys.stdlib_module_names)
    wrong = [str(one) for one in IMPORTS if ROWS.get(part(one.source)) == 0 and one.target.split(".")[0] not in allowed]
    assert wrong == []


def test_torch_is_only_where_it_belongs():
    wrong = []
    for one in IMPORTS:
        if one.target.split(".")[0] not in {"torch", "torchvision"} or part(one.source) in TORCH_ANYWHERE:
            continue
        if part(one.source) not in TORCH_IN_FUNCTIONS or one.at_load:
            wrong.append(str(one))
    assert wrong == []


def test_order_is_pure():
    """No I/O, no torch, no clock, no threads: a plan is a function of its arguments."""
    impure = {"os", "io", "pathlib", "time", "datetime", "threading", "multiprocessing", "random", "subprocess"}
    wrong = [str(one) for one in IMPORTS if part(one.source) == "order" and one.target.split(".")[0] in impure]
    assert wrong == []


def test_private_names_stay_in_their_module():
    def is_private(name: str) -> bool:
        return name.startswith("_") and not name.startswith("__")

    wrong = [str(one) for one in OWN if one.target not in MODULES and is_private(one.target.rpartition(".")[2])]
    assert wrong == []


def test_private_modules_stay_in_their_package():
    wrong = []
    for one in OWN:
        parts = own_module(one.target).split(".")
        # headrace._base and headrace._native are private to headrace as a whole.
        hidden = [i for i, piece in enumerate(parts) if i > 1 and piece.startswith("_") and not piece.startswith("__")]
        wrong += [str(one) for i in hidden if one.source.split(".")[:i] != parts[:i]]
    assert wrong == []


def strongly_connected(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (by repeated reachability; the graph is small)."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for following in graph[todo.pop()] - seen:
                seen.add(following)
                todo.append(following)
        return seen

    reached = {node: reach(node) for node in graph}
    groups = {frozenset(o for o in reached[n] if n in reached[o]) for n in graph if n in reached[n]}
    return sorted(sorted(group) for group in groups)


def test_no_import_cycles():
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for one in OWN:
        target = own_module(one.target)
        if one.at_load and target in MODULES and target not in {one.source, "headrace"}:
            graph[one.source].add(target)
    assert strongly_connected(graph) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch", [("torch", True)]),
        ("def f():\n    import torch", [("torch", False)]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", [("torch", False)]),
        ("try:\n    import torch\nexcept ImportError:\n    import numpy", [("torch", True), ("numpy", True)]),
        ("class A:\n    import torch", [("torch", True)]),
        ("def f():\n    with a:\n        if b:\n            import torch", [("torch", False)]),
    ],
)
def test_imports_are_found_wherever_they_stand(code, expected):
    found = [
        (target, at_load)
        for node, at_load in nodes(ast.parse(code).body, at_load=True)
        for target in targets(node, "headrace")
        if target.split(".")[0] != "typing"
    ]
    assert found == expected


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}
    assert strongly_connected(graph) == [["b", "c"], ["d"]]
