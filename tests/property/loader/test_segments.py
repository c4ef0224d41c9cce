"""A run in several segments, each on other ranks, over shards of any sizes: together they are the uncut run."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace as hr
from tests.property.loader.conftest import Numbers, write_shards
from tests.property.loader.grid import splits
from tests.simulated_job import Job, padded, valid_rows

pytestmark = pytest.mark.usefixtures("machine_read_once")

BOUNDED = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def jobs_of_one_batch(draw):
    """Two to four jobs that make the same global batches."""
    batch = draw(st.integers(1, 24))
    options = {
        "shuffle": draw(st.sampled_from([False, True, "full", "window"])),
        "seed": draw(st.integers(0, 2**64 - 1)),
        "tail": draw(st.sampled_from([None, "drop", "pad", "keep"])),
    }
    some = draw(st.lists(st.sampled_from(splits(batch, most_ranks=8)), min_size=2, max_size=4))
    return [
        Job(
            world_size=world_size,
            batch_size=batch_size,
            accumulate=accumulate,
            num_nodes=draw(st.integers(1, min(3, world_size))),
            options=options | {"num_workers": draw(st.sampled_from([0, 0, 0, 1, 3]))},
        )
        for world_size, batch_size, accumulate in some
    ]


def deliver(job, dataset, state, num_steps):
    """The next global steps of a job that goes on from a state, and the state after them."""
    ranks, states = [], []
    for loader in job.loaders(dataset):
        if state is not None:
            loader.load_state_dict(state)
        iterator = iter(loader)
        # To the end of the epoch, or so many steps without asking for the end.
        stop = None if num_steps is None else min(num_steps * job.accumulate, loader.steps_left)
        batches = islice(iterator, stop)
        ranks.append([(index.tolist(), valid.tolist()) for *_, index, valid in batches])
        states.append(json.loads(json.dumps(loader.state_dict())))
        loader.close()
    assert all(one == states[0] for one in states)
    return job.join(ranks), states[0]


def check_segments(dataset, jobs, lengths):
    """All segments but the last are as long as `lengths` says; the last two end their epochs."""
    tail = jobs[0].options["tail"]
    state, seen = None, []
    for job, length in zip(jobs, [*lengths[: len(jobs) - 1], None], strict=True):
        steps, state = deliver(job, dataset, state, length)
        seen.append((job, steps))
    seen.append((jobs[-1], deliver(jobs[-1], dataset, state, None)[0]))
    nodes = {"canonical_nodes": state["canonical_nodes"]} if state["shuffle"] == "window" else {}
    whole = Job(batch_size=jobs[0].global_batch, options=jobs[0].options | nodes)
    whole = whole.with_options(tail="drop" if tail == "drop" else "keep", num_workers=0)
    loader = whole.loader(dataset)
    first, second = ([(index.tolist(), valid.tolist()) for *_, index, valid in loader] for _ in range(2))
    expected = [*first]
    for job, steps in seen[:-1]:
        assert steps == padded(expected[: len(steps)], job, tail)
        expected = expected[len(steps) :]
    assert expected == []
    assert seen[-1][1] == padded(second, jobs[-1], tail)
    assert sorted(valid_rows(first)) == list(range(len(dataset))) or tail == "drop"


@BOUNDED
@given(
    counts=st.lists(st.integers(0, 12), min_size=1, max_size=7),
    jobs=jobs_of_one_batch(),
    lengths=st.lists(st.integers(0, 6), min_size=3, max_size=3),
)
def test_shards(counts, jobs, lengths, tmp_path_factory):
    folder = write_shards(tmp_path_factory.mktemp("segments") / "shards", counts)
    check_segments(hr.ShardDataset(folder, fields=("txt",) if sum(counts) else None), jobs, lengths)


@BOUNDED
@given(num=st.integers(0, 60), jobs=jobs_of_one_batch(), lengths=st.lists(st.integers(0, 6), min_size=3, max_size=3))
def test_map_style_datasets(num, jobs, lengths):
    check_segments(Numbers(num), jobs, lengths)


@BOUNDED
@given(
    num=st.integers(0, 60),
    sizes=st.lists(st.integers(1, 24), min_size=2, max_size=4),
    cut=st.integers(0, 5),
    mode=st.sampled_from([False, True, "window"]),
    tail=st.sampled_from(["pad", "keep"]),
    nodes=st.sampled_from([1, 2, 3]),
    data=st.data(),
)
def test_other_global_batches_deliver_the_rest_once(num, sizes, cut, mode, tail, nodes, data):
    """`on_batch_change="continue"`: whatever the batches were, each sample comes once among the valid rows."""
    state, rows = None, []
    for number, size in enumerate(sizes):
        nodes = nodes if mode == "window" else 1
        world_size, batch_size, accumulate = data.draw(st.sampled_from(splits(size * nodes, most_ranks=4)))
        job = Job(world_size=world_size, batch_size=batch_size, accumulate=accumulate)
        job = job.with_options(shuffle=mode, tail=tail, on_batch_change="continue", num_workers=0)
        if mode == "window":
            job = job.with_options(canonical_nodes=nodes, window_samples=7)
        last = number == len(sizes) - 1
        steps, state = deliver(job, Numbers(num), state, None if last else cut)
        rows += valid_rows(steps)
    assert sorted(rows) == list(range(num))
