"""Worker processes of programs that are started in unusual ways."""

import subprocess
import sys

SCRIPT = """
import os, shutil, tempfile
import torch
import headrace as hr

os.close(0)
os.close(2)
folder = tempfile.mkdtemp()
os.chdir(folder)
shutil.rmtree(folder)
home = os.getpid()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index, os.getpid() != home


loader = hr.DataLoader(Numbers(), batch_size=3, engine="processes", num_workers=1)
print([(ids.tolist(), bool(elsewhere.all())) for ids, elsewhere in loader])
"""


def test_a_script_without_guard_in_a_folder_that_is_gone_with_closed_streams():
    done = subprocess.run([sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, check=False)
    assert done.stdout == "[([0, 1, 2], True), ([3, 4, 5], True)]\n", done.stderr
