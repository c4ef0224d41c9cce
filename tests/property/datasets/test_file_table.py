"""Tables of files against plain lists of what they were made of."""

import os

import numpy as np
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.datasets.file_source import FileSource
from headrace.datasets.files.builder import TableBuilder
from headrace.datasets.files.from_list import ListReader, split_paths
from headrace.datasets.files.leaves import leaves_of
from headrace.datasets.files.table import FileTable
from headrace.datasets.files.wanted import Wanted
from headrace.datasets.shared.block import create_block
from headrace.errors import SourceError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
SUFFIXES = st.sampled_from([None, "", ".jpg", ".JPG", ".png", ".seg.png"])
ODD = ["/data/a.jpg", "./b", "s3://a", None, 3, ""]
VALUES = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-(2**70), 2**70)), max_size=12),
    st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=12),
    st.lists(st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=3)), max_size=12),
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False), st.booleans()), max_size=12),
)


def pieces_of(data, items):
    """Cuts a list into pieces."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=3)))
    return [items[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(items)], strict=True)]


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(NAMES, SUFFIXES, SUFFIXES), min_size=1, max_size=12), data=st.data())
def test_paths_are_root_stem_and_suffix(rows, data):
    builder = TableBuilder()
    for piece in pieces_of(data, rows):
        builder.add_stems("", [stem for stem, _, _ in piece])
        builder.add_files("one", "", [one for _, one, _ in piece])
        if any(two is not None for _, _, two in piece):  # a column that comes late, or not in every piece
            builder.add_files("two", "", [two for _, _, two in piece])
        builder.end_piece(len(piece))
    table = FileTable(create_block(builder.finish(["one", "two"], kind="list", root="/data")))
    assert len(table) == len(rows)
    for place, name in enumerate(table.facts.names, 1):
        files = table.files(table.facts.column(name))
        there = [row for row in range(len(rows)) if rows[row][place] is not None]
        assert np.flatnonzero(files.suffix_ids).tolist() == there
        wanted = [os.fsencode(os.path.join("/data", rows[row][0]) + rows[row][place]) for row in there]  # noqa: PTH118
        assert files.paths(np.array(there, dtype=np.int64)) == wanted


@settings(max_examples=60)
@given(values=VALUES.filter(len), data=st.data())
def test_values_come_back_and_say_where_there_are_none(values, data):
    builder = TableBuilder()
    for piece in pieces_of(data, values):
        builder.add_stems("", ["x"] * len(piece))
        if any(value is not None for value in piece):
            builder.add_values("v", piece)
        builder.end_piece(len(piece))
    table = FileTable(create_block(builder.finish(["v"], kind="list", root="/")))
    column = table.facts.column("v")
    if column is None:
        assert all(value is None for value in values)
        return
    rows = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), max_size=6)), dtype=np.int64)
    found = table.values(column)
    taken, absent = list(found.take(rows)), set(found.absent_of(rows).tolist())
    for at, row in enumerate(rows.tolist()):
        assert (at in absent) == (values[row] is None)
        assert at in absent or taken[at] == values[row]


@given(
    paths=st.lists(
        st.one_of(NAMES, st.text("ab./:", max_size=9), st.sampled_from(["/data/a.jpg", "./b", None, 3, ""]))
    ),
    root=st.sampled_from(["/data", "/"]),
)
def test_rows_that_are_looked_at_together_are_what_each_is_alone(paths, root):
    reader = ListReader(Wanted(fields=None), root, None)
    together = split_paths(paths, root)
    if together is not None:
        assert together == [reader.split(path, 1, "path", needed=True) for path in paths]
        return
    bad = 0
    for path in paths:
        try:
            reader.split(path, 1, "path", needed=True)
        except SourceError:
            bad += 1
    assert bad


def slow_digest(stems, labels, folder):
    """The hash, stem by stem."""
    digest = xxhash.xxh3_64()
    encoded = [os.fsencode(stem).removeprefix(folder) for stem in stems]
    digest.update(b"".join(encoded))
    for stem in encoded:
        digest.update(len(stem).to_bytes(8, "little"))
    for label in labels:
        digest.update(int(label).to_bytes(8, "little", signed=True))
    return digest.hexdigest()


@given(
    stems=st.lists(st.one_of(NAMES.filter(lambda name: not name.startswith("/")), NAMES.map("/data/b/".__add__))),
    data=st.data(),
)
def test_identity_is_the_hash_stem_by_stem(stems, data):
    if not stems:
        return
    labels = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=len(stems), max_size=len(stems)))
    builder = TableBuilder()
    builder.add_stems("", stems)
    builder.add_files("f", "", [".jpg"] * len(stems))
    builder.end_piece(len(stems))
    builder.set_labels("label", np.array(labels, dtype=np.int64))
    table = FileTable(create_block(builder.finish(["f"], kind="list", root="/data/a")))
    absolute = {stem.rpartition("/")[0] for stem in stems if stem.startswith("/")}
    folder = os.fsencode(os.path.commonpath(absolute)).rstrip(b"/") + b"/" if absolute else b""
    expected = {"kind": "files", "num": len(stems), "content": slow_digest(stems, labels, folder)}
    _, leaves = leaves_of(("f", "label"), table.facts)
    assert FileSource(table, leaves).identity() == expected
