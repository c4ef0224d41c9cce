"""Samples with parts: mappings, named tuples, dataclasses, tuples, lists; and what they become as a batch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

from headrace import _native

Name: TypeAlias = Any
"""The key, name or place of a part."""


LEAVES = frozenset({bool, int, float, complex, str, bytes, np.ndarray, torch.Tensor, *np.sctypeDict.values()})
"""Types without parts, which most values have: asked of abstract classes, a value takes 0.5 us."""


def part_names(sample: Any) -> list[Name] | None:
    """The names of the parts of a sample; None where it is one value."""
    kind = type(sample)
    if kind in LEAVES:
        return None
    return list(range(len(sample))) if kind is tuple or kind is list else part_names_of_any(sample)


def part_names_of_any(sample: Any) -> list[Name] | None:
    """The same for values of any type: the plain ones are only known sooner."""
    if isinstance(sample, Mapping):
        return list(sample)
    if is_named_tuple(sample):
        return list(sample._fields)
    if is_dataclass(sample) and not isinstance(sample, type):
        return [field.name for field in fields(sample)]
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes, bytearray, memoryview)):
        return list(range(len(sample)))
    return None


def columns(samples: Sequence[Any], names: Sequence[Name]) -> Sequence[Sequence[Any]]:
    """The parts of all samples, one column a name: tuples where samples are sequences, as torch has them.

    Raises:
        ValueError: A sample has another number of parts.
        KeyError, AttributeError: A sample lacks a part.
    """
    plain = _native.tuple_columns(samples, len(names)) if type(samples[0]) is tuple else None
    return plain if plain is not None else columns_of_any(samples, names)


def columns_of_any(samples: Sequence[Any], names: Sequence[Name]) -> Sequence[Sequence[Any]]:
    """The same for samples of any type."""
    first = samples[0]
    if isinstance(first, Mapping):
        return [[sample[name] for sample in samples] for name in names]
    if is_dataclass(first):
        return [[getattr(sample, name) for sample in samples] for name in names]
    if set(map(len, samples)) != {len(names)}:
        raise ValueError("samples with different numbers of parts")
    return list(zip(*samples, strict=True))


def rebuilt(sample: Any, names: Sequence[Name], parts: Sequence[Any]) -> Any:
    """A batch of the structure of a sample, as torch has it: a tuple becomes a list, other types stay if they can."""
    if isinstance(sample, Mapping):
        return rebuilt_mapping(sample, dict(zip(names, parts, strict=True)))
    if is_named_tuple(sample):
        return type(sample)(*parts)
    if is_dataclass(sample):
        batch: Any = copy.copy(sample)
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(batch, name, part)
        return batch
    return list(parts) if isinstance(sample, tuple) else rebuilt_sequence(sample, parts)


def rebuilt_mapping(sample: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    """A mapping of the same type with these parts."""
    try:
        if isinstance(sample, MutableMapping):
            clone = copy.copy(sample)
            clone.update(parts)
            return clone
        return type(sample)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts


def rebuilt_sequence(sample: Sequence[Any], parts: Sequence[Any]) -> Any:
    """A sequence of the same type with these parts."""
    try:
        if isinstance(sample, MutableSequence):
            clone = copy.copy(sample)
            for place, part in enumerate(parts):
                clone[place] = part
            return clone
        return type(sample)(parts)  # type: ignore[call-arg]
    except TypeError:
        return list(parts)


def is_named_tuple(sample: Any) -> bool:
    """Whether this is an instance of a named tuple."""
    return isinstance(sample, tuple) and hasattr(sample, "_fields")
