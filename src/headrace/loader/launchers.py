"""Where a process stands in its job, as the variables of its launcher say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import OptionError
from headrace.order import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """The variables in which a launcher says where a process stands."""

    name: str
    rank: str
    world_size: str
    local_rank: str
    local_world_size: str | None = None
    node: str | None = None
    num_nodes: str | None = None


TORCHRUN = Launcher(
    name="torchrun",
    rank="RANK",
    world_size="WORLD_SIZE",
    local_rank="LOCAL_RANK",
    local_world_size="LOCAL_WORLD_SIZE",
    node="GROUP_RANK",
    num_nodes="GROUP_WORLD_SIZE",
)
"""https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables"""

SLURM = Launcher(
    name="srun",
    rank="SLURM_PROCID",
    world_size="SLURM_NTASKS",
    local_rank="SLURM_LOCALID",
    node="SLURM_NODEID",
    num_nodes="SLURM_NNODES",
)
"""https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES"""

OPEN_MPI = Launcher(
    name="mpirun",
    rank="OMPI_COMM_WORLD_RANK",
    world_size="OMPI_COMM_WORLD_SIZE",
    local_rank="OMPI_COMM_WORLD_LOCAL_RANK",
    local_world_size="OMPI_COMM_WORLD_LOCAL_SIZE",
)
"""https://docs.open-mpi.org/en/main/tuning-apps/environment-var.html"""

LARGEST_NUMBER = (1 << 31) - 1
"""Ranks and sizes are 32-bit integers with all launchers."""

LAUNCHERS = (TORCHRUN, OPEN_MPI, SLURM)
"""In the order in which they are asked: mpirun inside of a Slurm job has the last word on its own processes."""


def launched_topology(environ: Mapping[str, str]) -> Topology | None:
    """What torchrun, mpirun or srun says of this process; None for a process that nobody launched.

    Raises:
        OptionError: A variable that is no number or does not fit the others, named.
    """
    for launcher in LAUNCHERS:
        if _is_task(launcher, environ):
            return _from_environ(launcher, environ)
    return None


def launched_as(rank: int, world_size: int, environ: Mapping[str, str]) -> Topology:
    """The place of a rank that torch.distributed knows; its node from the launcher, where it says the same rank.

    Without such a launcher all ranks are taken to be on one node.

    Raises:
        OptionError: A variable that is no number or does not fit the others, named.
    """
    for launcher in LAUNCHERS:
        if environ.get(launcher.rank) == str(rank) and environ.get(launcher.world_size) == str(world_size):
            return _from_environ(launcher, environ)
    return Topology(rank=rank, world_size=world_size, local_rank=rank, local_world_size=world_size)


def _is_task(launcher: Launcher, environ: Mapping[str, str]) -> bool:
    """Whether this launcher started this very process.

    A Slurm batch script has the variables of its job too, as task 0 of many, but is one process; only what srun
    starts has a step.
    """
    if launcher.rank not in environ or launcher.world_size not in environ:
        return False
    return launcher is not SLURM or "SLURM_STEP_ID" in environ or environ[launcher.rank] != "0"


def _from_environ(launcher: Launcher, environ: Mapping[str, str]) -> Topology:
    """The launcher's variables; where it says nothing of nodes, all ranks are taken to be on one."""
    world_size = _read(environ, launcher.world_size, 1, least=1)
    rank = _read(environ, launcher.rank, 0, most=world_size - 1)
    num_nodes = _read(environ, launcher.num_nodes, 0, least=1, most=world_size)
    even = -(-world_size // max(1, num_nodes))
    local_world_size = _read(environ, launcher.local_world_size, even, least=1, most=world_size)
    num_nodes = num_nodes or -(-world_size // local_world_size)
    node = _read(environ, launcher.node, min(rank // local_world_size, num_nodes - 1), most=num_nodes - 1)
    if launcher is SLURM:
        local_world_size = _slurm_tasks(environ, node, local_world_size)
    local_rank = _read(environ, launcher.local_rank, rank % local_world_size, most=local_world_size - 1)
    return Topology(
        rank=rank,
        world_size=world_size,
        local_rank=local_rank,
        local_world_size=local_world_size,
        node=node,
        num_nodes=num_nodes,
    )


def _slurm_tasks(environ: Mapping[str, str], node: int, default: int) -> int:
    """Tasks of a node from a list such as `4(x2),3`: four on each of the first two nodes, three on the next."""
    name = "SLURM_STEP_TASKS_PER_NODE"
    if name not in environ:
        return default
    tasks: list[int] = []
    for part in environ[name].split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise OptionError(f"{name} is no list of tasks a node", got=environ[name], accepted="such as 4(x2),3")
        tasks += [int(match[1])] * int(match[2] or 1)
    return tasks[node] if node < len(tasks) else default


def _read(
    environ: Mapping[str, str], name: str | None, default: int, *, least: int = 0, most: int = LARGEST_NUMBER
) -> int:
    """A variable as a number within bounds; the default where it is missing."""
    if name is None or name not in environ:
        return default
    text = environ[name]
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise OptionError(
            f"The environment variable {name} makes no sense",
            got=f"{name}={text!r}",
            accepted=f"an integer from {least} to {most}",
            remedy="Correct it, unset the launcher's variables, or pass topology=headrace.Topology(...)",
        )
    return int(text)
