from __future__ import annotations

from scripts.requirements import requirements

PROJECT = {"dependencies": ["numpy>=1"]}
OPTIONAL = {"a": ["x>=1"], "b": ["y; sys_platform == 'linux'", "headrace[a,c]"], "c": ["z"]}


def test_without_extras():
    assert requirements(PROJECT, OPTIONAL, []) == {"numpy>=1"}


def test_extras_of_extras_are_followed():
    assert requirements(PROJECT, OPTIONAL, ["b"]) == {"numpy>=1", "x>=1", "y; sys_platform == 'linux'", "z"}
