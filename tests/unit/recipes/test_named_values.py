"""What the names in a function's code stand for."""

from __future__ import annotations

import collections.abc
import random

import pytest

from headrace.recipes.named_values import attribute_of, named_values


def dotted_import(path):
    import collections.abc as p

    return p.Sized(path)


def package_import(path):
    import collections.abc

    return collections.abc.Sized(path)


def several_from_one(path):
    from collections.abc import Hashable, Sized

    return Sized(Hashable(path))


def own_variable(p):
    p.Sized = 1
    return p.Sized


def global_of_this_module(path):
    return random.sample(path)


def nested(path):
    from collections import abc as p

    def inner(one):
        return p.Sized(one)

    return [inner(one) for one in path]


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (dotted_import, [(collections.abc, ["Sized"])]),
        (package_import, [(collections, ["abc", "Sized"])]),
        (several_from_one, [(collections.abc.Sized, []), (collections.abc.Hashable, [])]),
        (own_variable, []),
        (global_of_this_module, [(random, ["sample"])]),
        (nested, [(collections.abc, ["Sized"])]),
    ],
)
def test_names_are_those_of_imports_and_globals(function, named):
    assert list(named_values(function)) == named


def test_attributes_of_modules_are_followed_and_those_of_objects_are_not():
    assert attribute_of(collections, ["abc", "Sized"]) is collections.abc.Sized
    assert attribute_of(collections, ["nothing"]) is None
    assert attribute_of("text", ["Sized"]) == "text"
