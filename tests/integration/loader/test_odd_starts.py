"""Worker processes of programs that are started in unusual ways."""

import subprocess
import sys
import types
from contextlib import closing

import pytest

import headrace as hr

SCRIPT = """
import os, shutil, sys, tempfile
import numpy as np
import torch
import headrace as hr

os.close(0)
os.close(2)
folder = tempfile.mkdtemp()
os.chdir(folder)
shutil.rmtree(folder)
home = os.getpid()
sys.argv += ["photograph" * 100] * 300


class Numbers(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = {number: np.zeros(number % 3 + 1) for number in range(60_000)}

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return len(self.rows) + index, os.getpid() != home, len(sys.argv)


loader = hr.DataLoader(Numbers(), batch_size=3, engine="processes", num_workers=1)
print([(ids.tolist(), bool(elsewhere.all()), num_arguments[0].item()) for ids, elsewhere, num_arguments in loader])
"""


def test_no_guard_no_streams_no_folder_many_arguments_and_many_arrays():
    done = subprocess.run([sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, check=False)
    assert done.stdout == "[([60000, 60001, 60002], True, 301), ([60003, 60004, 60005], True, 301)]\n", done.stderr


def test_a_module_that_workers_do_not_find_is_told_with_the_remedy(monkeypatch):
    module = types.ModuleType("loaded_from_nowhere")
    exec("class Numbers(list): pass", vars(module))  # as programs load plug-ins
    monkeypatch.setitem(sys.modules, module.__name__, module)
    loader = hr.DataLoader(module.Numbers([1, 2]), engine="processes", num_workers=1)
    with closing(loader), pytest.raises(ModuleNotFoundError, match="loaded_from_nowhere") as caught:
        next(iter(loader))
    assert "register_pickle_by_value" in "".join(caught.value.__notes__)
