import numpy as np
import pytest

from headrace.contracts import ByteColumn, InMemory, Layout, SampleName, ValueColumn
from headrace.datasets.values import row_bytes
from headrace.datasets.views import JoinedSource, SelectedSource


class Words:
    """A source of words in memory, with the length of each as a second field."""

    def __init__(self, words, name):
        self.words = [np.frombuffer(word.encode(), dtype=np.uint8) for word in words]
        self.name = name

    def layout(self):
        sizes = sum(len(word) for word in self.words)
        return Layout(samples=np.array([len(self.words)]), sizes=np.array([sizes]))

    def identity(self):
        return {"name": self.name}

    def fetch(self, ids, allocate):
        chosen = [self.words[index] for index in ids]
        column = ByteColumn(
            place=InMemory(addresses=np.array([word.ctypes.data for word in chosen], dtype=np.uint64), owner=chosen),
            sizes=np.array([len(word) for word in chosen], dtype=np.uint64),
            absent=np.flatnonzero([not len(word) for word in chosen]),
            choices=np.array([len(word) % 2 for word in chosen], dtype=np.int32),
        )
        return {"txt": column, "len": ValueColumn(values=np.array([len(word) for word in chosen]))}

    def names(self, ids):
        return [SampleName(shard=self.name, key=str(index)) for index in ids]


@pytest.fixture
def joined():
    return JoinedSource([Words(["a", "bb", "ccc"], "x"), Words([], "none"), Words(["dddd", "eeeee"], "y")])


def words_of(source, ids):
    return [data.decode() for data in row_bytes(source.fetch(np.array(ids), np.empty)["txt"])]


def test_a_join_reads_rows_from_the_parts_that_hold_them(joined):
    ids = [4, 0, 3, 2, 2, 1]
    assert words_of(joined, ids) == ["eeeee", "a", "dddd", "ccc", "ccc", "bb"]
    columns = joined.fetch(np.array(ids), np.empty)
    assert list(columns["len"].values) == [5, 1, 4, 3, 3, 2]
    assert columns["txt"].choices.tolist() == [1, 1, 0, 1, 1, 0]
    assert [(name.shard, name.key) for name in joined.names(np.array(ids))][:2] == [("y", "1"), ("x", "0")]


def test_a_join_knows_the_rows_that_lack_a_field():
    joined = JoinedSource([Words(["a", ""], "x"), Words(["", "b", ""], "y")])
    column = joined.fetch(np.array([4, 0, 1, 3, 2]), np.empty)["txt"]
    assert column.absent.tolist() == [0, 2, 4]
    assert column.present.tolist() == [1, 3]
    assert list(row_bytes(column)) == [None, b"a", None, b"b", None]


def test_a_join_within_one_part_is_passed_through(joined):
    assert words_of(joined, [1, 0]) == ["bb", "a"]


def test_the_layout_of_a_join_is_that_of_its_parts(joined):
    assert joined.layout().samples.tolist() == [3, 0, 2]


def test_a_selection_maps_positions(joined):
    chosen = SelectedSource(joined, [4, 1])
    assert words_of(chosen, [1, 0, 0]) == ["bb", "eeeee", "eeeee"]
    assert chosen.layout().samples.tolist() == [2]
    assert [name.key for name in chosen.names(np.array([0]))] == ["1"]


def test_selections_of_other_positions_are_other_datasets(joined):
    identities = [SelectedSource(joined, positions).identity() for positions in ([0, 1], [1, 0], [0, 1, 2])]
    assert identities[0] == SelectedSource(joined, np.array([0, 1])).identity()
    assert identities[0] != identities[1]
    assert identities[0] != identities[2]


@pytest.mark.parametrize("positions", [[1.5], ["1"], np.array([0.0]), [None]])
def test_positions_that_are_no_whole_numbers_are_refused(joined, positions):
    with pytest.raises(TypeError, match="no whole number"):
        SelectedSource(joined, positions)


@pytest.mark.parametrize("positions", [[5], [-6]])
def test_positions_that_there_are_not_are_out_of_range(joined, positions):
    with pytest.raises(IndexError, match="out of range"):
        SelectedSource(joined, positions)
