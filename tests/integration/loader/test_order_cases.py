"""What other loaders get wrong about order, through ours: the input as it was reported, and the right outcome."""

from __future__ import annotations

from itertools import chain, islice

import pytest

import headrace as hr
from tests.simulated_job import Job, valid_rows
from tests.tars import tar_of


def write_shards(folder, counts):
    """Shards of these many samples, each of which holds its own number as text."""
    first = 0
    for shard, count in enumerate(counts):
        members = ((f"{number:05d}.txt", str(number).encode()) for number in range(first, first + count))
        (folder / f"{shard:03d}.tar").write_bytes(tar_of(members))
        first += count
    return hr.ShardDataset(folder, fields=("txt",))


def epoch_of(loader):
    return [(index.tolist(), valid.tolist()) for *_, index, valid in loader]


def job_of(**options):
    options = {"num_workers": 0} | options
    return Job(world_size=options.pop("world_size", 1), batch_size=options.pop("batch_size"), options=options)


@pytest.mark.parametrize("shuffle", [True, "full"])
def test_three_epochs_without_set_epoch_are_three_orders(shuffle, tmp_path):
    """O1. Twenty shards: the order of the shards differs too, and each epoch comes again from (seed, epoch)."""
    dataset = write_shards(tmp_path, [3] * 20)
    job = job_of(batch_size=4, shuffle=shuffle, seed=11, window_samples=6 if shuffle is True else None)
    loader = job.loader(dataset)
    epochs = [valid_rows(epoch_of(loader)) for _ in range(3)]
    assert all(sorted(epoch) == list(range(60)) for epoch in epochs)
    assert len(set(map(tuple, epochs))) == 3
    of_shards = {tuple(dict.fromkeys(one // 3 for one in epoch)) for epoch in epochs}
    assert len(of_shards) == 3
    for number in (2, 0, 1):
        again = job.loader(dataset)
        again.set_epoch(number)
        assert valid_rows(epoch_of(again)) == epochs[number]
    other_seed = job.with_options(seed=12).loader(dataset)
    assert valid_rows(epoch_of(other_seed)) != epochs[0]


@pytest.mark.parametrize("tail", [None, "drop", "pad", "keep"])
@pytest.mark.parametrize("shuffle", [False, True, "full"])
@pytest.mark.parametrize(("counts", "world_size"), [([5] * 10, 4), ([5, 5], 4), ([3, 4, 5, 6, 7, 8], 2)])
def test_ranks_make_equal_steps_however_uneven_the_shards_are(counts, world_size, shuffle, tail, tmp_path):
    """O2. More ranks than shards, shards of 3 to 8 rows: equal steps, and the union is whole or short by the drop."""
    dataset = write_shards(tmp_path, counts)
    job = job_of(world_size=world_size, batch_size=3, shuffle=shuffle, tail=tail)
    loaders = job.loaders(dataset)
    ranks = [epoch_of(loader) for loader in loaders]
    assert {len(rank) for rank in ranks} == {len(loader) for loader in loaders} == {len(ranks[0])}
    rows = valid_rows(list(chain(*ranks)))
    dropped = len(dataset) % job.global_batch if tail == "drop" else 0
    assert len(set(rows)) == len(rows) == len(dataset) - dropped


@pytest.mark.parametrize("shuffle", [True, "full"])
def test_batches_run_on_over_the_borders_of_shards(shuffle, tmp_path):
    """O3. Shards of 30 and 10 rows in batches of 8: five whole ones."""
    loader = job_of(batch_size=8, shuffle=shuffle).loader(write_shards(tmp_path, [30, 10]))
    assert [len(ids) for ids, _ in epoch_of(loader)] == [8, 8, 8, 8, 8]


@pytest.mark.parametrize("how", [{"tail": "drop"}, {"drop_last": True}])
def test_many_workers_share_batches_and_do_not_each_drop_a_tail(how, tmp_path):
    """O4. A thousand items, ten workers, batches of 128: seven, not none."""
    dataset = write_shards(tmp_path, [100] * 10)
    loader = job_of(batch_size=128, num_workers=10, **how).loader(dataset)
    batches = epoch_of(loader)
    assert [len(ids) for ids, _ in batches] == [128] * 7
    assert len(loader) == 7
    assert valid_rows(batches) == list(range(896))


@pytest.mark.parametrize("num_workers", [0, 1, 4])
@pytest.mark.parametrize(("num", "batch_size"), [(100, 4), (101, 4), (3, 4), (0, 4)])
def test_len_is_what_an_epoch_delivers(num, batch_size, num_workers):
    """O5. A hundred items, four workers, batches of four: 25 told and 25 delivered, in every epoch."""
    loader = job_of(batch_size=batch_size, num_workers=num_workers).loader(range(num))
    told = -(-num // batch_size)
    for _ in range(2):
        assert len(loader) == told
        assert len(epoch_of(loader)) == told


@pytest.mark.parametrize("num_workers", [0, 2])
def test_epochs_after_a_resumed_one_are_whole(num_workers, tmp_path):
    """O6. 128 rows in batches of 2, resumed with three batches left: 3, then 64, then 64."""
    dataset = write_shards(tmp_path, [100, 28])
    job = job_of(batch_size=2, shuffle=True, num_workers=num_workers, persistent_workers=num_workers > 0)
    first = job.loader(dataset)
    before = epoch_of(islice(iter(first), 61))
    second = job.loader(dataset)
    second.load_state_dict(first.state_dict())
    epochs = [epoch_of(second) for _ in range(3)]
    assert [len(epoch) for epoch in epochs] == [3, 64, 64]
    assert len(second) == 64
    assert sorted(valid_rows(before + epochs[0])) == list(range(128))
    assert sorted(valid_rows(epochs[1])) == sorted(valid_rows(epochs[2])) == list(range(128))
    first.close()


def test_positions_are_absolute(tmp_path):
    """O7. Thirty batches, saved, loaded, ten more, saved: position 40."""
    dataset = write_shards(tmp_path, [50, 85])
    job = job_of(batch_size=3, shuffle=True)
    loader, position = job.loader(dataset), 0
    whole = epoch_of(job.loader(dataset))
    for num in (10, 20, 10):
        position += num
        other = job.loader(dataset)
        other.load_state_dict(loader.state_dict())
        loader = other
        if position > 10:
            assert loader.step == position - num
        epoch_of(islice(iter(loader), num))
        assert loader.state_dict()["samples_delivered"] == 3 * position
    last = job.loader(dataset)
    last.load_state_dict(loader.state_dict())
    assert epoch_of(last) == whole[40:]
