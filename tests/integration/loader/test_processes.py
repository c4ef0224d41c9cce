"""The loader with worker processes: what comes is what threads give, and more is seeded."""

import os
import random
import signal
import time
from contextlib import closing
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, get_worker_info
from torchvision.transforms import v2

import headrace as hr
from headrace.datasets.shard_source import ShardSource
from headrace.errors import LoaderClosedError, OptionError, WorkerError
from headrace.pack import PackOptions, pack

NUM = 26


class Drawing(Dataset):
    """Samples that tell what all generators gave them."""

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        return {
            "index": index,
            "large": torch.full((64, 64), float(index)),
            "python": random.random(),
            "numpy": np.random.rand(),
            "torch": torch.rand(()),
            "ours": hr.rng().random(),
        }


def loader_of(dataset, num_workers=2, **options):
    options = {"batch_size": 4, "shuffle": True, "seed": 5, "engine": "processes"} | options
    return hr.DataLoader(dataset, num_workers=num_workers, **options)


def lists(batches, names=("index", "python", "numpy", "torch", "ours")):
    return [{name: batch[name].tolist() for name in names} for batch in batches]


def test_batches_are_those_of_threads_and_draws_depend_on_the_sample_alone():
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    one = loader_of(Drawing(), num_workers=1)
    first, second = lists(one), lists(one)
    two = loader_of(Drawing())
    iterator = iter(two)
    begun = lists(islice(iterator, 3))
    state = two.state_dict()
    two.load_state_dict(state)
    assert begun + lists(two) == first, "however many workers, and cut in the middle"
    assert lists(two) == second
    assert first != second, "another epoch, other draws"
    assert states == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    in_threads = lists(loader_of(Drawing(), engine="threads"), ("index", "ours"))
    assert in_threads == [{name: batch[name] for name in ("index", "ours")} for batch in first]
    assert two.stats().stages["dataset"].items >= NUM, "what workers measure arrives"
    assert "processes" in two.explain()
    one.close()
    two.close()


def test_a_look_at_samples_leaves_the_callers_generators_as_they_were():
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert "samples draw from global generators" in loader_of(Drawing(), engine="auto").explain()
    assert states == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())


class Faulty(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        if index % 5 == 3:
            raise KeyError(f"nothing at {index}")
        return torch.tensor(index)


def test_errors_keep_their_type_and_name_the_sample_or_are_skipped():
    with closing(loader_of(Faulty(), shuffle=False, batch_size=6)) as loader:
        with pytest.raises(KeyError, match="nothing at 3") as caught:
            list(loader)
        assert any("sample 3 of Faulty" in note for note in caught.value.__notes__)
    with closing(loader_of(Faulty(), shuffle=False, batch_size=6, on_error="skip")) as loader:
        batches = [(batch.tolist(), loader.valid.tolist()) for batch in loader]
        assert batches[0] == ([0, 1, 2, 4, 4, 5], [True, True, True, False, True, True])
        assert loader.stats().counts["skipped_samples"] == 2


def test_functions_of_a_script_set_workers_up_and_collate():
    marks = {}

    def set_up(number):
        marks["number"] = number

    class Local(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            info = get_worker_info()
            assert type(info.dataset) is type(self)
            return index, marks["number"], info.id, info.num_workers, os.getpid()

    loader = loader_of(Local(), engine="auto", worker_init_fn=set_up, collate_fn=lambda rows: rows, batch_size=2)
    with closing(loader):
        rows = [row for batch in loader for row in batch]
    assert sorted(row[0] for row in rows) == list(range(8))
    assert all(number == told and num == 2 and pid != os.getpid() for _, number, told, num, pid in rows)


def test_random_transforms_of_torchvision_are_exact_in_processes(photographs, tmp_path):
    pack(str(photographs), str(tmp_path), PackOptions(samples_per_shard=20))
    transform = v2.Compose([v2.RandomResizedCrop(32), v2.ColorJitter(0.5, 0.5), v2.ToImage()])
    dataset = hr.ShardDataset(str(tmp_path), fields=("jpg", "cls"), transform=transform)

    def images(num_workers):
        loader = loader_of(dataset, num_workers=num_workers, engine="auto", batch_size=16)
        with closing(loader):
            assert "ColorJitter draws from global generators" in loader.explain()
            return torch.cat([batch[0] for batch in loader])

    assert torch.equal(images(1), images(2))


class Listed(Dataset):
    def __init__(self):
        self.paths = [f"folder/photograph {number:06d}.jpg" for number in range(50_000)]

    def __len__(self):
        return 16

    def __getitem__(self, index):
        return self.paths[index], type(self.paths).__name__


def test_large_lists_are_shared_with_workers_and_the_users_own_stays():
    dataset = Listed()
    with closing(loader_of(dataset, shuffle=False)) as loader:
        paths, kinds = next(iter(loader))
        assert list(paths) == dataset.paths[:4]
        assert kinds[0] != "list" == type(dataset.paths).__name__
        assert "paths (50,000 items)" in loader.explain()


class Unusual(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        weights = torch.nn.Parameter(torch.full((3,), float(index)))
        return {"weights": weights, "sparse": torch.eye(2).to_sparse(), "same": (weights, weights), "note": iter(())}


def test_batches_of_unusual_tensors_are_those_of_threads_and_what_cannot_travel_is_named():
    collate = {"sparse": "list", "note": len}
    with closing(loader_of(Unusual(), num_workers=1, shuffle=False, collate=collate)) as loader:
        (batch,) = loader
    (expected,) = loader_of(Unusual(), engine="threads", shuffle=False, collate=collate)
    assert torch.equal(batch["weights"], expected["weights"])
    assert batch["weights"].requires_grad
    assert all(map(torch.equal, batch["same"], expected["same"]))
    assert [one.to_dense().tolist() for one in batch["sparse"]] == [torch.eye(2).tolist()] * 4
    collate = {"sparse": "list", "note": lambda rows: (row for row in rows)}
    loader = loader_of(Unusual(), num_workers=1, collate=collate)
    with closing(loader), pytest.raises(WorkerError, match=r"cannot be sent.*got TypeError: .*generator"):
        next(iter(loader))


def test_windows_are_asked_for_once_by_the_trainers_process(photographs, tmp_path, monkeypatch):
    pack(str(photographs), str(tmp_path), PackOptions(samples_per_shard=10))
    asked = []
    monkeypatch.setattr(ShardSource, "read_ahead", lambda _, first, count, *__: asked.append((first, count)))
    dataset = hr.ShardDataset(str(tmp_path), fields="cls")
    with closing(loader_of(dataset, batch_size=8, window_samples=20)) as loader:
        assert sum(len(batch) for batch in loader) == len(dataset)
    assert sum(count for _, count in asked) == len(dataset), "every window, and none twice"


class Deadly(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index == 22:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


def test_a_worker_that_dies_is_named_with_its_signal_and_samples():
    loader = loader_of(Deadly(), shuffle=False)
    with closing(loader), pytest.raises(WorkerError, match="SIGKILL"):
        list(loader)


def test_what_threads_cannot_do_is_refused():
    with pytest.raises(OptionError, match=r'worker_init_fn.*engine="processes"'):
        hr.DataLoader(Drawing(), engine="threads", worker_init_fn=print)
    with pytest.raises(OptionError, match="multiprocessing_context"):
        hr.DataLoader(Drawing(), multiprocessing_context="thread")


class Whereabouts(Dataset):
    """Samples that tell which process has made them."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return index, os.getpid()


def test_workers_stay_when_a_state_or_another_batch_size_asks_for_other_steps():
    with closing(loader_of(Whereabouts(), num_workers=1)) as loader:
        iterator = iter(loader)
        (begun, pids), state = next(iterator), loader.state_dict()
        loader.load_state_dict(state)
        with pytest.raises(LoaderClosedError):
            next(iterator)
        rest = [index for indexes, _ in loader for index in indexes.tolist()]
        assert sorted([*begun.tolist(), *rest]) == list(range(64))
        iterator = iter(loader)
        first = next(iterator)
        loader.set_batch_size(8)
        resized = list(iterator)
        assert [len(indexes) for indexes, _ in resized] == [8] * 7 + [4]
        seen = [*first[0].tolist(), *(index for indexes, _ in resized for index in indexes.tolist())]
        assert sorted(seen) == list(range(64))
        assert {pid for _, each in resized for pid in each.tolist()} == set(pids.tolist()) != {os.getpid()}


class Spinning(Dataset):
    """Python that holds the GIL, for long enough that processes would pay."""

    def __init__(self, kept=None):
        self.kept = kept

    def __len__(self):
        return 10**7

    def __getitem__(self, index):
        return sum(number * index for number in range(20_000))


def test_what_cannot_be_sent_to_processes_stays_with_the_caller_unless_they_were_asked_for():
    with closing(loader_of(Spinning(), engine="auto", batch_size=16)) as loader:
        assert "\nengine   processes" in loader.explain()
    rows = (row for row in "ab")
    with closing(loader_of(Spinning(rows), engine="auto", batch_size=16)) as loader:
        (told,) = [line for line in loader.explain().splitlines() if line.startswith("engine")]
        assert told.startswith("engine   the caller's thread")
        assert "dataset.kept cannot be sent to worker processes" in told
        with pytest.warns(RuntimeWarning, match=r"num_workers=2 is not used.*dataset\.kept"):
            assert len(next(iter(loader))) == 16
    with closing(loader_of(Spinning(rows))) as loader, pytest.raises(OptionError, match=r"dataset\.kept"):
        next(iter(loader))
    starter = loader_of(Spinning(rows), engine="auto", worker_init_fn=print)
    with closing(starter) as loader, pytest.raises(OptionError, match=r"dataset\.kept"):
        next(iter(loader))


def test_how_many_workers_there_are_is_known_once_samples_were_looked_at():
    with closing(hr.DataLoader(Faulty(), batch_size=2)) as loader:
        assert loader.num_workers >= 1
    with closing(hr.DataLoader(Sleeping(), batch_size=2)) as loader:
        assert "32 workers" in loader.explain()
        assert loader.num_workers == 32


class Sleeping(Dataset):
    """Samples that wait."""

    def __len__(self):
        return 100

    def __getitem__(self, index):
        time.sleep(0.02)
        return index
