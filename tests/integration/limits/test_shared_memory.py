"""A /dev/shm of 64 MB, as containers have it: nothing of ours lies in it."""

import shutil
import subprocess

import pytest

from tests.integration.limits.limited import output_of, run_limited

MOUNT = 'mount -t tmpfs -o size=64M tmpfs /dev/shm && exec "$0" "$@"'
SMALL = ("unshare", "--mount", "sh", "-c", MOUNT)

SCRIPT = """
import shutil
import torch
import headrace as hr
from torch.utils.data import TensorDataset
assert shutil.disk_usage("/dev/shm").total == 64 << 20
class Large(torch.utils.data.Dataset):
    def __init__(self):
        self.table = torch.arange(40 << 20, dtype=torch.int32).reshape(40, -1)
        self.names = [f"sample {i}" * 20 for i in range(200_000)]
    def __len__(self):
        return 40
    def __getitem__(self, index):
        assert self.names[index] == f"sample {index}" * 20
        return self.table[index].clone()
loader = hr.DataLoader(Large(), batch_size=10, engine="processes", num_workers=2)
batches = list(loader)
assert [int(row[0]) for batch in batches for row in batch] == [i << 20 for i in range(40)]
assert sum(batch.nbytes for batch in batches) == 160 << 20
shared = hr.SharedList(["x" * 1000] * 200_000)
assert len(shared) == 200_000 and shared[-1] == "x" * 1000
assert "/dev/shm is not used" in loader.explain() and "shared" in loader.explain()
print(shutil.disk_usage("/dev/shm").used)
loader.close()
"""


def can_mount():
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*SMALL, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="no mount namespace can be made here")
def test_batches_datasets_and_lists_of_hundreds_of_megabytes():
    assert int(output_of(run_limited(SCRIPT, prefix=SMALL))) == 0
