"""What the libraries and the collector of worker processes are told, and what they tell back."""

import gc
import os
import sys

import pytest
import torch
from torch.utils.data import Dataset

import headrace as hr

CYCLES = 3000


class Looking(Dataset):
    """Tells of the process that makes its samples, and leaves garbage in cycles."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        for _ in range(CYCLES):
            ring = []
            ring.append(ring)
        cv2 = sys.modules.get("cv2")
        return {
            "torch": torch.get_num_threads(),
            "omp": int(os.environ.get("OMP_NUM_THREADS", "0")),
            "cv2": cv2.getNumThreads() if cv2 else -1,
            "frozen": gc.get_freeze_count(),
            "collects": gc.isenabled(),
        }


class LookingWithOpenCV(Looking):
    def __reduce__(self):
        return with_opencv, ()


def with_opencv():
    """As the dataset arrives in a worker; sets a number, as a library may do when it is imported."""
    import cv2

    cv2.setNumThreads(2)
    return LookingWithOpenCV()


def seen(dataset=None, **options):
    with_defaults = {"batch_size": 4, "num_workers": 2, "engine": "processes"} | options
    loader = hr.DataLoader(dataset or Looking(), **with_defaults)
    try:
        batches = list(loader)
        return {name: {int(n) for batch in batches for n in batch[name]} for name in batches[0]}, loader.stats()
    finally:
        loader.close()


def more_threads(_):
    torch.set_num_threads(3)
    gc.disable()


def test_a_worker_computes_with_one_thread_and_its_collector_passes_over_what_was_set_up():
    frozen = gc.get_freeze_count()
    found, stats = seen()
    assert (found["torch"], found["omp"], found["collects"]) == ({1}, {1}, {1})
    assert min(found["frozen"]) > 10_000, "what was imported and unpickled"
    assert stats.stages["worker_gc"].items > 0
    assert stats.stages["worker_gc"].busy.max_s < 10
    assert gc.get_freeze_count() == frozen, "the trainer's own collector is left alone"


def test_what_the_user_says_counts(monkeypatch):
    found, _ = seen(worker_init_fn=more_threads)
    assert (found["torch"], found["collects"]) == ({3}, {0})
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    found, _ = seen(num_workers=1)
    share = hr.DataLoader(Looking(), num_workers=1)._life.running().composition.inner_threads.num_threads
    assert found["omp"] == found["torch"] == {share}


def test_opencv_is_told_where_it_is_loaded():
    pytest.importorskip("cv2")
    found, _ = seen(LookingWithOpenCV())
    assert found["cv2"] == {1}


@pytest.mark.parametrize("engine", [{"num_workers": 0}, {"num_workers": 2, "engine": "threads"}])
def test_pauses_of_the_collector_are_a_stage(engine):
    before = list(gc.callbacks)
    _, stats = seen(**engine)
    assert stats.stages["gc"].items > 0
    assert gc.callbacks == before


def test_an_iteration_that_is_broken_off_leaves_no_callback():
    before = list(gc.callbacks)
    loader = hr.DataLoader(Looking(), num_workers=2, engine="threads")
    for _ in loader:
        break
    iterator = iter(loader)
    next(iterator)
    assert len(gc.callbacks) > len(before)
    del iterator
    loader.close()
    assert gc.callbacks == before
