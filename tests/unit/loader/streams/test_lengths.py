"""How many steps ranks make."""

from dataclasses import replace

import pytest

from headrace.errors import OrderError
from headrace.loader.streams.lengths import Lengths
from headrace.loader.streams.plan import StreamPlan
from tests.streams import Naive, Sized, Unsized

PLAN = StreamPlan(
    num_streams=2,
    reason="",
    engine="processes",
    why_engine="",
    splits=True,
    batch_size=3,
    drop_last=False,
    tail="pad",
    seed=0,
    rank=0,
    world_size=2,
)
FOURTEEN = Sized(list(range(14)))
"""Parts of 4, 4, 3 and 3 samples: rank 0 has the first and the third."""


def test_parts_next_to_each_other_lie_on_different_ranks():
    assert [[PLAN.part(stream, rank) for stream in range(2)] for rank in range(2)] == [[0, 2], [1, 3]]
    assert Lengths(FOURTEEN, PLAN).of_parts() == ((4, 3), (4, 3))


def test_all_ranks_make_the_steps_of_the_longest_or_with_drop_of_the_shortest():
    fifteen = Sized(list(range(13)))  # parts of 4, 3, 3, 3
    drop = replace(PLAN, tail="drop", drop_last=True)
    for rank in range(2):
        assert Lengths(fifteen, replace(PLAN, rank=rank)).num_steps() == 3
        assert Lengths(fifteen, replace(drop, rank=rank)).num_steps() == 2
    assert Lengths(Sized(list(range(11))), drop).num_steps() == 1, "parts of 3, 3, 3, 2"


def test_one_rank_makes_the_steps_of_its_streams():
    alone = replace(PLAN, world_size=1, tail="keep")
    assert Lengths(FOURTEEN, alone).even_steps() is None
    assert Lengths(FOURTEEN, alone).num_steps() == 6, "7 and 7 samples"
    assert Lengths(FOURTEEN, alone).num_samples() == 14


def test_without_the_lengths_of_parts_the_dataset_is_asked():
    assert Lengths(Naive(10), replace(PLAN, splits=False)).num_steps() == 4
    assert Lengths(Naive(10), replace(PLAN, splits=False)).even_steps() is None
    with pytest.raises(TypeError, match="has no len"):
        Lengths(Unsized([1]), PLAN).num_steps()


def test_a_rank_without_samples_is_told_of_on_all_ranks_before_a_step():
    for rank in range(2):
        with pytest.raises(OrderError, match=r"no sample to repeat.*steps of the ranks: 1, 0"):
            Lengths(Sized([1]), replace(PLAN, rank=rank)).even_steps()
    assert Lengths(Sized([1]), replace(PLAN, tail="drop", drop_last=True)).even_steps() == 0
    assert Lengths(Sized([]), PLAN).even_steps() == 0
