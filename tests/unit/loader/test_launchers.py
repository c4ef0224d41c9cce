"""A process finds its place from the variables of its launcher, and nonsense in them is named."""

from __future__ import annotations

import pytest

from headrace.errors import OptionError
from headrace.loader.launchers import launched_as, launched_topology
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
        (TORCHRUN, (5, 8, 1, 4, 1, 2)),
        ({"RANK": "3", "WORLD_SIZE": "4"}, (3, 4, 3, 4, 0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, (3, 4, 1, 4, 0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, (3, 4, 1, 2, 1, 2)),
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
    assert launched_topology(environ) == Topology(**dict(zip(names, place, strict=True)))


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"RANK": "3"},
        # A batch script has the variables of its job, as task 0 of many, but is one process.
        {name: value for name, value in SLURM.items() if not name.startswith("SLURM_STEP")}
        | {"SLURM_PROCID": "0", "SLURM_LOCALID": "0"},
    ],
)
def test_a_process_that_nobody_launched(environ):
    assert launched_topology(environ) is None


def test_a_known_rank_has_the_node_of_a_launcher_that_says_the_same():
    assert launched_as(5, 8, TORCHRUN) == launched_topology(TORCHRUN)
    assert launched_as(1, 4, TORCHRUN) == Topology(rank=1, world_size=4, local_rank=1, local_world_size=4)


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
        launched_topology(environ)
    assert name in str(caught.value)
    assert environ[name] in str(caught.value)
