"""Finds the names of the classes in the labels of a dataset of shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headrace import codecs
from headrace._base.brief import brief
from headrace.contracts import I64, ByteColumn
from headrace.datasets.field import STRUCTURED, Field, field
from headrace.datasets.field_reader import FieldReader
from headrace.datasets.fields import Entry, SampleShape
from headrace.datasets.plan import DecodeOptions
from headrace.datasets.shard_source import ShardSource
from headrace.datasets.values import row_bytes
from headrace.errors import DecodeError, MissingFieldError, OptionError, SampleError
from headrace.shards import DatasetIndex

SAMPLES_AT_ONCE = 1024
"""Samples whose labels are read together."""

MAX_CLASSES = 1 << 17
"""More different names than this are captions or keys, not classes."""


def label_field(text: str) -> Field:
    """The field that `EXTENSION` or `EXTENSION:PATH` names, read so that names stay names.

    Raises:
        OptionError: It names none.
    """
    extensions, _, path = text.partition(":")
    parts = extensions.split(";")
    structured = all(codecs.kind_of(extension.strip()) in STRUCTURED for extension in parts)
    return field(extensions, kind="value" if structured else "text", get=path or None)


def find_class_names(
    index: DatasetIndex, asked: Field, on_progress: Callable[[int], None] | None = None
) -> tuple[str, ...]:
    """The different names that the labels of all samples have, sorted; samples without a label count as none.

    Args:
        index: The dataset.
        asked: The field, as `label_field` gives it.
        on_progress: Called with the samples done.

    Raises:
        DecodeError: A label that is no name, or that cannot be read; with shard, key and field.
        OptionError: There are no names, or so many that they are no classes.
    """
    source = ShardSource(index, SampleShape(shape="bare", entries=(Entry(name=asked.asked, field=asked),)))
    names: set[str] = set()
    try:
        for start in range(0, index.num_samples, SAMPLES_AT_ONCE):
            ids = np.arange(start, min(start + SAMPLES_AT_ONCE, index.num_samples))
            names.update(_names(source, ids, asked))
            if len(names) > MAX_CLASSES:
                raise OptionError(
                    f"{asked.asked} has more than {MAX_CLASSES} different names: these are no classes",
                    accepted="a field of class names",
                )
            if on_progress is not None:
                on_progress(start + len(ids))
    finally:
        source.close()
    if not names:
        raise OptionError(f"no sample has a label at {asked.asked}", accepted=f"fields: {', '.join(index.fields)}")
    return tuple(sorted(names))


def _names(source: ShardSource, ids: I64, asked: Field) -> Iterator[str]:
    """The names of some samples."""
    reader = FieldReader(asked, DecodeOptions())
    column = source.fetch(ids, np.empty)[asked.asked]
    if not isinstance(column, ByteColumn):
        raise TypeError(f"{asked.asked} comes as values, not as bytes")
    for row, data in enumerate(row_bytes(column)):
        if data is None:
            continue
        extension = asked.extensions[0 if column.choices is None else column.choices[row]]
        try:
            yield from _flat(reader.read(extension, data))
        except MissingFieldError:
            continue
        except SampleError as error:
            name = source.names(ids[row : row + 1])[0]
            raise error.at(shard=name.shard, key=name.key, field=asked.asked) from None


def _flat(value: Any) -> Iterator[str]:
    """The names in lists of names, however deep they lie, which is not left to the stack."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str):
            yield one.strip()
        elif one is not None:
            raise DecodeError(
                "a label is no name", got=brief(one), accepted="text; labels that are numbers need no class names"
            )
