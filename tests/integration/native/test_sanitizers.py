"""The native parts under address and undefined-behaviour sanitisers: checks, seeds of the fuzz targets, mutations.

`make fuzz` goes deeper; this is what every test run can afford.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "sanitized"
FUZZ = ROOT / "native" / "fuzz"

# Of 500 cases, on x86-64 and aarch64 alike; test_resize.py holds the paths to Pillow itself.
DIGEST = "048d0efdf9f1f834"
NUM_MUTATIONS = {
    "cached": 4_000,
    "index": 10_000,
    "jpeg": 15_000,
    "masks": 10_000,
    "png": 10_000,
    "tar": 4_000,
    "text": 10_000,
    "views": 4_000,
}
DICTIONARIES = {"cached": "jpeg.dict", "jpeg": "jpeg.dict", "tar": "tar.dict", "views": "jpeg.dict"}

pytestmark = pytest.mark.timeout(600)


def call(command: Sequence[str | Path]) -> str:
    """Output of a command; a failure shows all of it, with the sanitiser's report."""
    # cmake and ninja are Python packages here: they lie beside the interpreter.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    done = subprocess.run(
        [str(part) for part in command],
        cwd=BUILD,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def build() -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    sanitisers = "-DHEADRACE_SANITIZE=address,undefined"
    checks = ["-DCMAKE_BUILD_TYPE=Debug", "-DHEADRACE_CHECKS=ON", sanitisers]
    call(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", *checks])
    call(["cmake", "--build", BUILD])
    return BUILD


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    subprocess.run([sys.executable, FUZZ / "make_corpus.py", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def test_paths_agree_within_their_buffers(build: Path) -> None:
    output = call([build / "resample_check", "500"])
    assert re.search(r"digest (\w+)", output)[1] == DIGEST


def test_a_pool_that_several_threads_use(build: Path, seeds: Path) -> None:
    assert "12 rounds" in call([build / "threads_check", seeds / "jpeg" / "baseline-420", "12"])


def test_every_target_is_run() -> None:
    assert sorted(NUM_MUTATIONS) == sorted(path.name.removesuffix("_fuzz.cpp") for path in FUZZ.glob("*_fuzz.cpp"))


@pytest.mark.parametrize("target", NUM_MUTATIONS)
def test_seeds_and_mutations(build: Path, seeds: Path, target: str) -> None:
    num_mutations = NUM_MUTATIONS[target]
    options = [f"-runs={num_mutations}"]
    options += [f"-dict={FUZZ / DICTIONARIES[target]}"] if target in DICTIONARIES else []
    output = call([build / f"{target}_fuzz", *options, seeds / target])
    assert re.fullmatch(rf"\d+ seeds and {num_mutations} mutations", output.strip())


def test_no_seeds_is_an_error(build: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no seeds given"):
        call([build / "jpeg_fuzz", "-runs=1", tmp_path])
