"""Worker processes of programs that are started in unusual ways."""

import subprocess
import sys

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
