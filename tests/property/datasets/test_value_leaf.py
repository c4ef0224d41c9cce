"""Fast ways of reading leaves that are no images, held to the slow ones, through whole programs."""

import ctypes
import itertools
import json

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.contracts import ByteColumn, InMemory, SampleName
from headrace.datasets.context import BatchContext
from headrace.datasets.field_reader import FieldReader
from headrace.datasets.fields import parse_fields
from headrace.datasets.plan import DecodeOptions, plan_sample
from headrace.datasets.policy import Policy
from headrace.datasets.program import SampleProgram
from headrace.datasets.unrecorded import Unrecorded
from headrace.engine import Pool
from headrace.errors import HeadraceError

NUMBERS = st.integers(-9, 9) | st.floats(width=32) | st.none() | st.text(max_size=2) | st.booleans()
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "bbox": st.lists(NUMBERS, max_size=5) | st.just([1, 2, 3, 4]),
        "name": st.sampled_from(["a", "b", "c"]) | NUMBERS,
        "points": st.just([[1, 2], [3, 4]]) | NUMBERS,
    },
)
DOCUMENTS = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"objects": st.lists(OBJECTS, max_size=3) | NUMBERS, "text": st.text() | NUMBERS}
    ),
    NUMBERS,
)
JSON = DOCUMENTS.map(lambda value: json.dumps(value).encode()) | st.sampled_from([b"", b"{", b"[" * 9999, b"\xff"])
FIELDS = {
    "boxes": hr.field("json", get="objects[].bbox", kind="boxes"),
    "points": hr.field("json", get="objects[].points", kind="keypoints"),
    "labels": hr.field("json", get="objects[].name", classes=["a", "b"]),
    "text": hr.field("json", get="text", kind="text"),
}


def column(rows):
    """A column of bytes; None where a row lacks the field."""
    memory = [ctypes.create_string_buffer(row, len(row) + 1) if row is not None else None for row in rows]
    return ByteColumn(
        place=InMemory(
            addresses=np.array([0 if one is None else ctypes.addressof(one) for one in memory], dtype=np.uint64),
            owner=memory,
        ),
        sizes=np.array([0 if row is None else len(row) for row in rows], dtype=np.uint64),
        absent=np.array([place for place, row in enumerate(rows) if row is None], dtype=np.int64),
    )


def run(fields, columns, missing):
    """The samples of a batch, or the type and places of its error."""
    shape = parse_fields(fields, ())
    program = SampleProgram(plan_sample(shape, None, DecodeOptions()), Pool(0), Unrecorded())
    num_rows = len(next(iter(columns.values())).sizes)
    context = BatchContext(
        keys=np.zeros(num_rows, dtype=np.uint64),
        allocate=np.empty,
        names=lambda: [SampleName(shard="s", key=str(row)) for row in range(num_rows)],
        recorder=Unrecorded(),
        policy=Policy(missing=missing, collate_fn=list),
    )
    try:
        return program.run(columns, context).batch
    except HeadraceError as error:
        return type(error), error.where


def alone(name, rows, missing):
    """One field that shares its documents with no other."""
    return run({name: FIELDS[name]}, {name: column(rows)}, missing)


def plain(samples):
    return [
        {name: value.tolist() if isinstance(value, torch.Tensor) else value for name, value in sample.items()}
        for sample in samples
    ]


@given(st.lists(JSON | st.none(), min_size=1, max_size=4), st.sampled_from(["raise", "none"]))
def test_leaves_that_share_documents_are_what_each_is_alone(rows, missing):
    together = run(FIELDS, dict.fromkeys(FIELDS, column(rows)), missing)
    apart = {name: alone(name, rows, missing) for name in FIELDS}
    failed = [one for one in apart.values() if isinstance(one, tuple)]
    if failed:
        assert isinstance(together, tuple)
        # The lowest row counts, and of one row the first field.
        assert together == min(failed, key=lambda one: int(one[1]["key"]))
        return
    merged = [{name: apart[name][row][name] for name in FIELDS} for row in range(len(rows))]
    assert plain(together) == plain(merged)


LABELS = st.integers(-3, 4).map(lambda number: str(number).encode()) | st.sampled_from(
    [b"a", b" b\n", b"", b"+1", b"1_0", b"9" * 30, "٣".encode(), b"\xff", b"1.0", b"01"]
)

CLASSES = [None, ["a", "b", "3"], ["1", "a", "0"], ["0", "1", "2"], {"a": 7}, {1: 5, 2: 0}, {"1": 3}]


PLAIN = st.sampled_from([b"0", b"1", b"2"])


@given(st.lists(PLAIN, min_size=1, max_size=3) | st.lists(LABELS, min_size=1, max_size=5), st.sampled_from(CLASSES))
@settings(max_examples=150)
def test_labels_of_a_whole_batch_are_those_of_each_row(rows, classes):
    field = hr.field("cls", classes=classes) if classes is not None else hr.field("cls")
    found = run(field, {"cls": column(rows)}, "raise")
    expected = list(itertools.takewhile(lambda one: not isinstance(one, type), (read(field, row) for row in rows)))
    if len(expected) == len(rows):
        assert found == expected
    else:
        assert (found[0], found[1]["key"]) == (read(field, rows[len(expected)]), str(len(expected)))


def read(field, row):
    """What one row is by itself, or the type of its error."""
    try:
        return FieldReader(field, DecodeOptions()).read("cls", row)
    except HeadraceError as error:
        return type(error)
