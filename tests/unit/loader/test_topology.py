"""A process finds its place from what the caller, torch.distributed or a launcher says, and nonsense is named."""

from __future__ import annotations

import pytest
import torch.distributed as dist

from headrace.errors import OptionError
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
SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "4",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "1",
    "SLURM_NNODES": "2",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_TASKS_PER_NODE": "3,1",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


@pytest.mark.parametrize(
    "environ, place",
    [
        ({}, (0, 1, 0, 1, 0, 1)),
        (TORCHRUN, (5, 8, 1, 4, 1, 2)),
        ({"RANK": "3", "WORLD_SIZE": "4"}, (3, 4, 3, 4, 0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, (3, 4, 1, 4, 0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, (3, 4, 1, 2, 1, 2)),
        ({"RANK": "3"}, (0, 1, 0, 1, 0, 1)),
        (SLURM, (3, 4, 0, 1, 1, 2)),
        (SLURM | {"SLURM_PROCID": "2", "SLURM_LOCALID": "2", "SLURM_NODEID": "0"}, (2, 4, 2, 3, 0, 2)),
        (SLURM | {"SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_LOCALID": "1"}, (3, 4, 1, 2, 1, 2)),
        (OPEN_MPI, (2, 4, 0, 2, 1, 2)),
        (OPEN_MPI | SLURM, (2, 4, 0, 2, 1, 2)),
        (TORCHRUN | SLURM, (5, 8, 1, 4, 1, 2)),
    ],
)
def test_launchers(environ, place):
    names = ("rank", "world_size", "local_rank", "local_world_size", "node", "num_nodes")
    assert detect_topology(environ=environ) == Topology(**dict(zip(names, place, strict=True)))


def test_a_batch_script_is_one_process():
    script = {name: value for name, value in SLURM.items() if not name.startswith("SLURM_STEP")}
    assert detect_topology(environ=script | {"SLURM_PROCID": "0", "SLURM_LOCALID": "0"}) == Topology()


def test_the_caller_comes_first():
    said = Topology(rank=1, world_size=2)
    assert detect_topology(said, TORCHRUN) is said


@pytest.mark.parametrize(
    "environ, name",
    [
        (TORCHRUN | {"RANK": "8"}, "RANK"),
        (TORCHRUN | {"RANK": "-1"}, "RANK"),
        (TORCHRUN | {"RANK": "two"}, "RANK"),
        (TORCHRUN | {"RANK": ""}, "RANK"),
        (TORCHRUN | {"WORLD_SIZE": "0"}, "WORLD_SIZE"),
        (TORCHRUN | {"WORLD_SIZE": "9" * 30}, "WORLD_SIZE"),
        (TORCHRUN | {"LOCAL_RANK": "4"}, "LOCAL_RANK"),
        (TORCHRUN | {"LOCAL_WORLD_SIZE": "16"}, "LOCAL_WORLD_SIZE"),
        (TORCHRUN | {"GROUP_RANK": "2"}, "GROUP_RANK"),
        (SLURM | {"SLURM_PROCID": "4"}, "SLURM_PROCID"),
        (SLURM | {"SLURM_STEP_TASKS_PER_NODE": "many"}, "SLURM_STEP_TASKS_PER_NODE"),
        (OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "1.5"}, "OMPI_COMM_WORLD_SIZE"),
    ],
)
def test_nonsense_names_the_variable_and_its_value(environ, name):
    with pytest.raises(OptionError) as caught:
        detect_topology(environ=environ)
    assert name in str(caught.value)
    assert environ[name] in str(caught.value)


@pytest.fixture
def process_group(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_torch_distributed_comes_before_variables():
    assert detect_topology(environ=TORCHRUN) == Topology()
    assert detect_topology(environ={"RANK": "0", "WORLD_SIZE": "1"}) == Topology()
