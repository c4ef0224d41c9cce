"""How many streams there are, and who reads them."""

import pytest
from torch.utils.data import IterableDataset

import headrace as hr
from headrace.loader.streams.plan import choose_readers
from headrace.loader.streams.recognise import can_be_resumed, can_be_split, is_stream
from tests.streams import Naive, Resumable, ResumableIterators, SelfSplitting, Sized, Unsized

CASES = {
    ("auto", 0, False, True, True): (1, "caller"),
    ("processes", 0, True, True, True): (1, "caller"),
    ("auto", 3, False, False, True): (3, "processes"),
    ("auto", 3, False, True, True): (3, "processes"),
    ("auto", 3, True, True, True): (3, "processes"),
    ("auto", 3, True, False, True): (1, "processes"),
    ("auto", 3, True, True, False): (1, "caller"),
    ("auto", 3, False, True, False): (3, "processes"),
    ("processes", 3, True, False, False): (1, "processes"),
    ("threads", 3, False, False, True): (1, "threads"),
    ("threads", 3, True, True, False): (3, "threads"),
}
"""(engine asked, workers, automatic, has shard(), can be sent) -> (streams, engine)."""


@pytest.mark.parametrize("case", CASES)
def test_readers(case):
    asked, num_workers, is_automatic, splits, travels = case
    objection = None if travels else "it has a lock"
    found = choose_readers(asked, num_workers, is_automatic=is_automatic, splits=splits, objection=objection)
    assert (found.num_streams, found.engine) == CASES[case]
    assert found.reason
    assert found.why_engine


def test_what_a_stream_is():
    class Items(IterableDataset):
        def __iter__(self):
            return iter(())

        def __len__(self):
            return 0

    class Loose:
        def __iter__(self):
            return iter(())

        def __getitem__(self, index):
            raise NotImplementedError

    streams = [Items(), Naive(1), SelfSplitting([1]), Unsized([1]), Sized([1]), Loose(), iter([1]), {1, 2}]
    assert all(map(is_stream, streams))
    assert not any(map(is_stream, [[1], range(3), "text", {1: 2}, object(), hr.DataLoader]))


def test_a_method_shard_of_other_arguments_is_not_ours():
    class Other(Unsized):
        def shard(self, num_shards, index):
            return self

    class Attribute(Unsized):
        shard = 3

    class Anything(Unsized):
        def shard(self, **how):
            return self

    assert all(map(can_be_split, [Unsized([]), Anything([])]))
    assert not any(map(can_be_split, [Other([]), Attribute([]), Naive(1)]))
    assert can_be_resumed(Resumable([]))
    assert can_be_resumed(iter(ResumableIterators([])))
    assert not can_be_resumed(ResumableIterators([]))
