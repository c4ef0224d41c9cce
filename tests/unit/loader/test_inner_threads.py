import pytest

from headrace.loader.inner_threads import decide_inner_threads


@pytest.mark.parametrize(
    ("environ", "num_workers", "num_cpus", "ranks", "expected"),
    [
        ({}, 4, 64, 1, 1),
        ({"OMP_NUM_THREADS": "1"}, 4, 64, 1, 1),  # as torchrun sets it
        ({"OMP_NUM_THREADS": "4"}, 4, 64, 1, 4),
        ({"OMP_NUM_THREADS": "16"}, 16, 16, 1, 1),  # as a job script sets it for the trainer
        ({"OMP_NUM_THREADS": "16"}, 4, 64, 2, 8),
        ({"OMP_NUM_THREADS": "4,2"}, 4, 64, 1, 4),
        ({"OMP_NUM_THREADS": "many"}, 4, 64, 1, 1),
        ({"OMP_NUM_THREADS": "0", "MKL_NUM_THREADS": "2"}, 4, 64, 1, 2),
        ({"OMP_NUM_THREADS": "8"}, 64, 2, 1, 1),
        ({"OMP_NUM_THREADS": "8"}, 0, 4, 1, 4),
    ],
)
def test_threads_of_a_worker(environ, num_workers, num_cpus, ranks, expected):
    decided = decide_inner_threads(environ, num_workers=num_workers, num_cpus=num_cpus, local_world_size=ranks)
    assert decided.num_threads == expected


def test_the_reason_names_what_was_said():
    decided = decide_inner_threads({"OMP_NUM_THREADS": "16"}, num_workers=4, num_cpus=16, local_world_size=1)
    assert decided.reason == "OMP_NUM_THREADS=16, but a worker's share of the CPUs is 4"
