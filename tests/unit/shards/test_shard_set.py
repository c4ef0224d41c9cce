from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from headrace import _native
from headrace._base.open_files import OPEN_FILES
from headrace.errors import NotATarError, OptionError, ShardChangedError, SourceError
from headrace.shards import DatasetIndex, RangeLease, ShardSet, ShardWriter
from tests.tars import pairs, tar_of


@pytest.fixture
def dataset(tmp_path: Path) -> DatasetIndex:
    """10 shards of 5 samples; sample i holds its number under jpg (even) or png (odd), and cls in every fifth."""
    with ShardWriter(tmp_path / "x-%02d.tar", samples_per_shard=5) as writer:
        for i in range(50):
            extra = {"cls": f"{i}"} if i % 5 == 0 else {}
            writer.write({"__key__": f"k{i}", "jpg" if i % 2 == 0 else "png": f"image {i}", **extra})
    return DatasetIndex.open(tmp_path)


def read(lease: RangeLease, column: int) -> list[bytes | None]:
    plan = _native.ReadPlan(*(one[column : column + 1] for one in (lease.fds, lease.offsets, lease.sizes)))
    arena = np.empty(plan.size_bytes, dtype=np.uint8)
    addresses, failed = plan.read(arena)
    assert failed == {}
    places = zip(addresses[0].tolist(), lease.sizes[column].tolist(), strict=True)
    begin = arena.ctypes.data
    return [arena[place - begin : place - begin + size].tobytes() if place else None for place, size in places]


def test_ranges_of_any_samples(dataset: DatasetIndex) -> None:
    shards = ShardSet(dataset)
    ids = np.array([7, 49, 0, 7, 20, 33])
    with shards.fetch_ranges(ids, (("jpg", "png"), ("cls",))) as lease:
        assert read(lease, 0) == [f"image {i}".encode() for i in ids]
        assert read(lease, 1) == [None, None, b"0", None, b"20", None]
        assert lease.choices[0].tolist() == [1, 1, 0, 1, 0, 1]
        assert lease.faults == {}
    assert [(Path(name.shard or "").name, name.key) for name in shards.names(ids[:2])] == [
        ("x-01.tar", "k7"),
        ("x-09.tar", "k49"),
    ]
    shards.close()


def test_nothing_is_asked_for(dataset: DatasetIndex) -> None:
    shards = ShardSet(dataset)
    with shards.fetch_ranges(np.array([], dtype=np.int64), (("jpg",),)) as lease:
        assert lease.fds.shape == (1, 0)
    assert shards.names(np.array([], dtype=np.int64)) == []
    assert shards.num_open == 0


@pytest.mark.parametrize("number", [-1, 50])
def test_samples_that_are_not_there(dataset: DatasetIndex, number: int) -> None:
    with pytest.raises(OptionError, match="0 to 49"):
        ShardSet(dataset).fetch_ranges(np.array([number]), (("jpg",),))


def test_open_shards_are_bounded_but_leased_ones_stay(dataset: DatasetIndex) -> None:
    shards = ShardSet(dataset, capacity=2)
    with shards.fetch_ranges(np.arange(50), (("jpg", "png"),)) as lease:
        assert shards.num_open == 10
        shards.close()
        assert read(lease, 0) == [f"image {i}".encode() for i in range(50)]
    assert shards.num_open == 2
    shards.close()
    assert shards.num_open == 0
    with shards.fetch_ranges(np.array([3]), (("png",),)) as lease:
        assert read(lease, 0) == [b"image 3"]
    shards.close()


def test_many_threads(dataset: DatasetIndex) -> None:
    shards = ShardSet(dataset, capacity=2)
    wrong: list[object] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(40):
            ids = random.integers(0, 50, 8)
            with shards.fetch_ranges(ids, (("jpg", "png"),)) as lease:
                found = read(lease, 0)
            if found != [f"image {i}".encode() for i in ids]:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert shards.num_open <= 2
    shards.close()


def test_it_travels_to_another_process_with_nothing_open(dataset: DatasetIndex) -> None:
    shards = ShardSet(dataset, capacity=3)
    shards.names(np.array([0]))
    other = pickle.loads(pickle.dumps(shards))
    assert (other.shards.capacity, other.num_open) == (3, 0)
    assert other.names(np.array([49]))[0].key == "k49"
    shards.close()
    other.close()


class TestChangedShard:
    def test_another_count_is_an_error_that_names_it(self, dataset: DatasetIndex, tmp_path: Path) -> None:
        (tmp_path / "x-03.tar").write_bytes(tar_of(pairs(4)))
        shards = ShardSet(dataset)
        with pytest.raises(ShardChangedError) as caught:
            shards.fetch_ranges(np.array([0, 15]), (("jpg",),))
        assert caught.value.where["shard"] == str(tmp_path / "x-03.tar")
        assert (caught.value.got, caught.value.accepted) == (4, 5)
        assert shards.num_open == 1
        shards.close()

    def test_another_shard_of_as_many_samples_is_one_too(self, dataset: DatasetIndex, tmp_path: Path) -> None:
        """Shards that are cut by number all hold the same one, so that their sizes have to tell them apart."""
        size = (tmp_path / "x-03.tar").stat().st_size
        replace_by = tar_of([*pairs(5)[:-1], ("0004.txt", b"x" * 20_000)])
        (tmp_path / "x-03.tar").write_bytes(replace_by)
        shards = ShardSet(dataset)
        with pytest.raises(ShardChangedError, match=r"another size.*headrace index") as caught:
            shards.fetch_ranges(np.array([15]), (("jpg",),))
        assert caught.value.where["shard"] == str(tmp_path / "x-03.tar")
        assert (caught.value.got, caught.value.accepted) == (len(replace_by), size)
        assert shards.num_open == 0
        shards.close()

    def test_a_shard_that_has_gone(self, dataset: DatasetIndex, tmp_path: Path) -> None:
        (tmp_path / "x-03.tar").unlink()
        with pytest.raises(SourceError, match=r"x-03\.tar"):
            ShardSet(dataset).fetch_ranges(np.array([15]), (("jpg",),))

    def test_skipping_tells_the_rows(self, dataset: DatasetIndex, tmp_path: Path) -> None:
        (tmp_path / "x-03.tar").write_bytes(b"<html>")
        cut = (tmp_path / "x-04.tar").read_bytes()
        (tmp_path / "x-04.tar").write_bytes(cut[: len(cut) // 2])
        shards = ShardSet(DatasetIndex.open(tmp_path, on_error="skip"))
        with shards.fetch_ranges(np.array([0, 15, 20, 24]), (("jpg",),)) as lease:
            assert lease.absent[0].tolist() == [1, 3]
            assert sorted(lease.faults) == [1, 3]
            assert isinstance(lease.faults[1], NotATarError)
            assert read(lease, 0)[0] == b"image 0"
        shards.close()


def test_capacity_is_checked(dataset: DatasetIndex) -> None:
    with pytest.raises(OptionError, match="capacity"):
        ShardSet(dataset, capacity=0)


def test_a_forked_child_opens_for_itself(dataset: DatasetIndex) -> None:
    shards = ShardSet(dataset)
    shards.names(np.array([0]))
    with OPEN_FILES.turn:  # as another thread might hold it at the moment of the fork
        child = os.fork()
        if child == 0:
            is_right = shards.num_open == 0 and shards.names(np.array([49]))[0].key == "k49"
            os._exit(0 if is_right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shards.num_open == 1
    shards.close()
