"""Datasets that several threads must not share, driven with nothing said: as right as torch's loader makes them."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
import torch

import headrace as hr

NUM, ROW_BYTES = 60, 512


class Scratch:
    """Works in a buffer of its own."""

    def __init__(self, path):
        self.buffer = torch.full((50_000,), -1.0)  # not `empty`: memory of another test may hold the last number

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        self.buffer.fill_(index)
        return int(self.buffer.mul(1.0).mean())


class OneFile(Scratch):
    """Goes to a place in a file that is open, and reads there."""

    def __init__(self, path):
        self.file = path.open("rb", buffering=0)

    def __getitem__(self, index):
        self.file.seek(index * ROW_BYTES)
        time.sleep(0.002)
        return int(np.frombuffer(self.file.read(ROW_BYTES), dtype=np.int64)[5])


class OpenedLate(OneFile):
    """Opens its file with the first sample."""

    def __init__(self, path):
        self.path, self.file = path, None

    def __getitem__(self, index):
        if self.file is None:
            self.file = self.path.open("rb", buffering=0)
        return super().__getitem__(index)

    def __del__(self):
        close(self)


class Table(Scratch):
    """Asks a database that wants to be asked by the thread that opened it."""

    def __init__(self, path):
        self.base = sqlite3.connect(":memory:")
        self.base.execute("create table samples (number int)")
        self.base.executemany("insert into samples values (?)", [(number,) for number in range(NUM)])

    def __getitem__(self, index):
        return self.base.execute("select number from samples where rowid = ?", (index + 1,)).fetchone()[0]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(np.repeat(np.arange(NUM), ROW_BYTES // 8).tobytes())
    return path


def close(dataset):
    for name in ("file", "base"):
        held = getattr(dataset, name, None)
        if held is not None:
            held.close()


@pytest.mark.parametrize("kind", [Scratch, OneFile, OpenedLate, Table])
def test_samples_are_made_one_after_another(kind, path):
    dataset = kind(path)
    with closing(hr.DataLoader(dataset, 4)) as loader:
        assert torch.cat(list(loader)).tolist() == list(range(NUM))
        assert loader.num_workers == 0
        assert "threads cannot share it" in loader.explain() or "threads should not share it" in loader.explain()
    close(dataset)


@pytest.mark.parametrize("kind", [Scratch, OneFile, OpenedLate])
def test_workers_that_were_asked_for_have_a_dataset_each(kind, path):
    dataset = kind(path)
    with closing(hr.DataLoader(dataset, 4, num_workers=2)) as loader:
        assert "processes (the dataset " in loader.explain()
        assert torch.cat(list(loader)).tolist() == list(range(NUM))
    assert kind is OneFile or getattr(dataset, "file", None) is None, "nothing was opened in this process"
    close(dataset)


@pytest.mark.parametrize("kind", [Scratch, OneFile])
def test_a_dataset_that_was_read_to_its_end_before_is_no_other(kind, path):
    dataset = kind(path)
    assert [dataset[index] for index in range(NUM)] == list(range(NUM))
    with closing(hr.DataLoader(dataset, 4)) as loader:
        assert torch.cat(list(loader)).tolist() == list(range(NUM))
        assert "threads cannot share it" in loader.explain()
    close(dataset)


class Noise(Scratch):
    def __getitem__(self, index):
        return torch.rand(()) + np.random.rand()


def test_draws_from_global_generators_follow_their_seeds(path):
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        np.random.seed(0)
        with closing(hr.DataLoader(Noise(path), 4)) as loader:
            runs.append(torch.cat(list(loader)))
            assert "samples draw from global generators" in loader.explain()
    assert torch.equal(*runs)


def test_no_more_samples_are_made_to_look_than_an_epoch_has():
    class Counted(Scratch):
        num_calls = 0

        def __getitem__(self, index):
            Counted.num_calls += 1
            return index

    list(hr.DataLoader(Counted(None), 4))
    assert Counted.num_calls <= 2 * NUM + 1
