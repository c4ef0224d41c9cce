import subprocess
import sys

LARGEST_SEED = """
import torch.utils.data
from headrace.loader.worker_start import WorkerStart

told = []
WorkerStart(dataset="data", num_workers=2, seed=2**64 - 1, seeds_samples=True, worker_init_fn=told.append)(1)
info = torch.utils.data.get_worker_info()
print(told, info.id, info.num_workers, info.seed, info.dataset)
"""


def test_the_largest_seed_has_a_worker_of_number_1():
    # in a process of its own: a worker's start changes the process that it is in
    done = subprocess.run([sys.executable, "-c", LARGEST_SEED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[1]", "1", "2", "0", "data"]
