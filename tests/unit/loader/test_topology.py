"""What the caller says of a process comes first, then torch.distributed, then its launcher."""

from __future__ import annotations

import pytest
import torch.distributed as dist

from headrace.loader.topology import detect_topology
from headrace.order import Topology

TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2",
}


def test_the_caller_comes_first():
    said = Topology(rank=1, world_size=2)
    assert detect_topology(said, TORCHRUN) is said


def test_a_launcher_comes_before_nothing():
    assert detect_topology(environ=TORCHRUN).rank == 5
    assert detect_topology(environ={}) == Topology()


@pytest.fixture
def process_group(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_torch_distributed_comes_before_variables():
    assert detect_topology(environ=TORCHRUN) == Topology()
    assert detect_topology(environ={"RANK": "0", "WORLD_SIZE": "1"}) == Topology()
