"""Items of classes that are defined in a script, or in a function."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import dataclass

from headrace import SharedList


def test_classes_of_a_function():
    @dataclass
    class Sample:
        path: str
        label: int

    class Split(enum.Enum):
        TRAIN = 1

    items = [Sample("a", 1), {"split": Split.TRAIN, "sample": Sample("b", 2)}, None]
    shared = SharedList(items)
    assert shared.layout == "pickled"
    assert list(shared) == items
    assert type(shared[0]) is Sample
    assert shared[1]["split"] is Split.TRAIN


SCRIPT = """
import pickle, subprocess, sys
from dataclasses import dataclass
from typing import NamedTuple
from headrace import SharedList

@dataclass
class Sample:
    path: str

class Point(NamedTuple):
    x: int

class Outer:
    @dataclass
    class Inner:
        y: int

shared = SharedList([Sample("a"), Point(1), Outer.Inner(2), "__main__"])
assert list(shared) == [Sample("a"), Point(1), Outer.Inner(2), "__main__"]
assert type(shared[0]) is Sample and type(shared[1]) is Point
code = "import pickle, sys; a, b, c, d = pickle.load(sys.stdin.buffer); print(a.path, b.x, c.y, d, type(a).__name__)"
subprocess.run([sys.executable, "-c", code], input=pickle.dumps(shared), check=True)
"""


def test_classes_of_a_script_in_a_process_that_does_not_run_it():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "a 1 2 __main__ Sample\n"
