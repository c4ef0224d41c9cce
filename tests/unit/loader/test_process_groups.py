"""Ranks of a mesh that share the work on a batch get equal batches; the fake backend of torch stands in for the job."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

import headrace as hr
from headrace.errors import OptionError
from headrace.loader.process_groups import DATA_DIMS, MODEL_DIMS, Membership, find_membership
from headrace.loader.topology import detect_topology
from headrace.order import Topology


@contextmanager
def job(rank, world_size):
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)
    try:
        yield
    finally:
        dist.destroy_process_group()


def places(shape, names, choose=lambda mesh: mesh):
    """(data-parallel rank, size) of every rank of a job whose mesh has this shape."""
    world_size = 1
    for size in shape:
        world_size *= size
    found = []
    for rank in range(world_size):
        with job(rank, world_size):
            membership = find_membership(choose(init_device_mesh("cpu", shape, mesh_dim_names=names)))
            found.append((membership.rank, membership.world_size))
    return found


def test_one_dimension_is_data_parallel():
    assert places((4,), None) == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert places((4,), ("workers",)) == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_tensor_parallel_ranks_are_one_data_parallel_rank():
    expected = [(0, 2), (0, 2), (1, 2), (1, 2)]
    assert places((2, 2), ("dp", "tp")) == expected
    assert places((2, 2), ("dp", "tp"), lambda mesh: mesh["dp"]) == expected
    assert places((2, 2), ("dp", "tp"), lambda mesh: mesh["dp"].get_group()) == expected
    assert places((2, 2), ("tp", "dp")) == [(0, 2), (1, 2), (0, 2), (1, 2)]


def test_replicated_and_sharded_dimensions_count_together():
    assert places((2, 2), ("dp_replicate", "dp_shard")) == [(0, 4), (1, 4), (2, 4), (3, 4)]
    found = places((2, 1, 2, 1, 2), ("pp", "dp_replicate", "dp_shard", "cp", "tp"))
    assert found == [(0, 2), (0, 2), (1, 2), (1, 2)] * 2
    assert places((2, 2, 2), ("dp_replicate", "dp_shard", "tp"), lambda mesh: mesh["dp_replicate", "dp_shard"]) == [
        (rank // 2, 4) for rank in range(8)
    ]


def test_without_a_data_parallel_dimension_all_batches_are_equal():
    assert places((2, 2), ("pp", "tp")) == [(0, 1)] * 4


@pytest.mark.parametrize(
    "shape, names, told",
    [
        ((2, 2), None, "2 dimensions without names"),
        ((2, 2), ("rows", "tp"), "rows=2, tp=2"),
        ((2, 2), ("dp_cp", "tp"), "dp_cp=2"),
        ((4,), ("tp",), "tp=4"),
        ((4,), ("dp_shard_cp",), "dp_shard_cp=4"),
    ],
)
def test_a_mesh_that_does_not_tell_is_refused(shape, names, told):
    with pytest.raises(OptionError, match="data parallel") as caught:
        places(shape, names)
    assert told in str(caught.value)
    assert 'mesh["dp"]' in str(caught.value)


def test_no_name_means_two_things():
    assert not DATA_DIMS & MODEL_DIMS


def test_outsiders_are_told():
    with job(3, 4):
        inside = dist.new_group([0, 1])
        with pytest.raises(OptionError, match="not in the process group") as caught:
            hr.DataLoader([0], topology=inside)
        assert "rank 3 of 4" in str(caught.value)
        mesh = dist.DeviceMesh("cpu", [0, 1])
        with pytest.raises(OptionError, match="not in the device mesh"):
            hr.DataLoader([0], topology=mesh)


def test_anything_else_is_no_membership():
    assert find_membership("dp") is None
    assert find_membership(None) is None
    with pytest.raises(OptionError, match="DeviceMesh or ProcessGroup"):
        hr.DataLoader([0], topology="dp")


def test_peers_are_all_processes_of_what_was_passed():
    with job(2, 4):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        assert find_membership(mesh) == Membership(rank=1, world_size=2, peers=(0, 1, 2, 3))
        assert find_membership(mesh["dp"]) == Membership(rank=1, world_size=2, peers=(0, 2))
        assert find_membership(dist.new_group([3, 2])).peers == (2, 3)


def launched(rank, world_size, local_world_size):
    variables = {
        "RANK": rank,
        "WORLD_SIZE": world_size,
        "LOCAL_RANK": rank % local_world_size,
        "LOCAL_WORLD_SIZE": local_world_size,
        "GROUP_RANK": rank // local_world_size,
        "GROUP_WORLD_SIZE": world_size // local_world_size,
    }
    return {name: str(value) for name, value in variables.items()}


@pytest.mark.parametrize(
    "shape, rank, place",
    [
        # Two nodes of four, pairs of tensor-parallel ranks: CPUs and page cache are shared by the four.
        ((4, 2), 5, (2, 4, 1, 4, 1, 2)),
        # One node, one data-parallel rank: four processes share the node although there is one rank.
        ((1, 4), 3, (0, 1, 3, 4, 0, 1)),
        # A tensor-parallel group over both nodes: one data-parallel rank lies on one node as far as order goes.
        ((1, 8), 6, (0, 1, 2, 4, 0, 1)),
        # Four nodes, two of them for each data-parallel rank.
        ((2, 8), 13, (1, 2, 1, 4, 1, 2)),
    ],
)
def test_nodes_are_those_of_the_processes(shape, rank, place):
    with job(rank, shape[0] * shape[1]):
        membership = find_membership(init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp")))
        found = detect_topology(membership, launched(rank, shape[0] * shape[1], 4))
    names = ("rank", "world_size", "local_rank", "local_world_size", "node", "num_nodes")
    assert found == Topology(**dict(zip(names, place, strict=True)))


def test_a_loader_splits_over_the_data_parallel_ranks():
    seen = {}
    for rank in range(4):
        with job(rank, 4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
            loader = hr.DataLoader(list(range(10)), batch_size=2, shuffle=True, topology=mesh["dp"], num_workers=0)
            seen[rank] = [batch.tolist() for batch in loader]
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert {one for rank in (0, 2) for batch in seen[rank] for one in batch} == set(range(10))
