"""What the tests of the examples share: shards whose labels tell samples apart, and runs that are watched."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

import headrace as hr
from headrace.pack import PackOptions, pack

ROOT = Path(__file__).parents[3]
RECORDED = Path(__file__).with_name("recorded.py")
# Accelerate, and with it the Trainer of transformers, wants to be told that there is no GPU.
ON_CPU = {"ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An example that has ended."""

    returncode: int
    stdout: str
    stderr: str
    steps: list[list[int | str]]
    """Labels or images from which all ranks together made each optimiser step, as far as all ranks got."""


@pytest.fixture(scope="session")
def shards(photographs, tmp_path_factory):
    """60 photographs in three shards; the label of each is its own."""
    folder = tmp_path_factory.mktemp("numbered")
    for number, photograph in enumerate(sorted(photographs.rglob("*.jpg"))):
        (folder / "tree" / f"{number:02}").mkdir(parents=True)
        (folder / "tree" / f"{number:02}" / photograph.name).symlink_to(photograph)
    pack(str(folder / "tree"), str(folder / "shards"), PackOptions(samples_per_shard=20, name="train"))
    return str(folder / "shards" / "train-{000000..000002}.tar")


def finished_steps(log):
    """What each optimiser step of a rank was made from, as recorded.py notes it; a step that was cut is left out."""
    steps = [[]]
    for note in map(json.loads, log.read_text().splitlines()):
        if note is None:
            steps.append([])
        else:
            steps[-1] += note
    return steps[:-1]


@pytest.fixture
def whole_run(shards):
    """Labels of each optimiser step of a run of so many epochs that nothing stops."""

    def steps(*, epochs, global_batch):
        dataset = hr.ShardDataset(shards, fields="cls")
        loader = hr.DataLoader(dataset, batch_size=global_batch, shuffle=True, drop_last=True)
        return [batch.tolist() for _ in range(epochs) for batch in loader]

    return steps


@pytest.fixture
def run_example(shards, tmp_path):
    """Runs an example, in a folder that it finds again when it is run again; under torchrun, or as a plain script."""

    def run(name, *arguments, ranks, die_at=0, torchrun=True, data=shards, what="labels"):
        log = tmp_path / f"{name}-{ranks}"
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if torchrun else []
        script = ROOT / "examples" / name / "train.py"
        done = subprocess.run(
            [sys.executable, *launcher, str(RECORDED), str(log), str(die_at), what, str(script), data, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=140,
            cwd=tmp_path,
            env=os.environ | ON_CPU,
        )
        assert Path(f"{log}.0").exists(), done.stderr[-4000:]
        by_rank = [finished_steps(Path(f"{log}.{rank}")) for rank in range(ranks)]
        steps = [list(chain(*parts)) for parts in zip(*by_rank, strict=False)]
        return Run(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr, steps=steps)

    return run


@pytest.fixture
def goes_on_with_the_same_images(run_example):
    """Two ranks die in the second epoch of four batches, two batches after a checkpoint; one rank does the rest.

    Every step must be made from the very images, crops and all, of a run that nothing stops. Gives what both runs
    printed.
    """

    def check(name, data, whole_run, *options, batch_size):
        kept = [*options, "--checkpoint=checkpoint.pt", "--save-every=2"]
        first = run_example(name, *kept, f"--batch-size={batch_size}", ranks=2, die_at=8, data=data, what="images")
        assert first.returncode != 0
        second = run_example(name, *kept, f"--batch-size={2 * batch_size}", ranks=1, data=data, what="images")
        assert second.returncode == 0, second.stderr[-4000:]
        assert list(map(sorted, first.steps[:6] + second.steps)) == list(map(sorted, whole_run))
        return first.stdout + second.stdout

    return check


@pytest.fixture(scope="session")
def load_script():
    """Gives a script of an example as a module."""

    def load(name, script="train"):
        spec = importlib.util.spec_from_file_location(f"{name}_{script}", ROOT / "examples" / name / f"{script}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
