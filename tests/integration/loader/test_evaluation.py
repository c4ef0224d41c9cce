"""Evaluating on several ranks with `tail="keep"`: the valid rows of all ranks are the dataset, once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import UnidentifiedImageError

import headrace as hr
from tests.encoded_images import pillow_rgb
from tests.simulated_job import Job
from tests.tars import tar_of

FIELDS_OF = (
    (("bin", b"a"), ("cls", b"1"), ("txt", b"a")),
    (("bin", b"b"), ("cls", b"2"), ("txt", b"b")),
    (("cls", b"3"), ("txt", b"no bytes")),
    (("bin", b"c"), ("cls", b"no number"), ("txt", b"c")),
)


def is_right(label):
    """Whether an imaginary model gets a sample right: a figure that one row more or less would change."""
    return (label * 7919) % 3 == 0


@pytest.mark.parametrize("num", [0, 1, 2, 3, 23, 24, 25, 97])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_figure_of_all_ranks_is_that_of_one(num, world_size, accumulate):
    job = Job(world_size=world_size, batch_size=4, accumulate=accumulate)
    loaders = job.with_options(tail="keep", num_workers=0).loaders(range(num))
    right, counted, steps = 0, [], []
    for loader in loaders:
        num_steps = 0
        for labels, _, _ in loader:
            num_steps += 1
            good = labels[loader.valid]
            right += sum(map(is_right, good.tolist()))
            counted += good.tolist()
        steps.append(num_steps)
        assert num_steps == len(loader)
    assert len(set(steps)) == 1, "all-gathers after each step would hang"
    assert sorted(counted) == list(range(num))
    assert right == sum(map(is_right, range(num)))


def test_a_sample_that_is_skipped_is_not_counted_and_steps_stay_even(tmp_path):
    """Padding and skipped rows are marked alike, also where a rank's last batch is padding alone."""
    members = [(f"{number:02d}.cls", b"none" if number in (3, 12) else str(number).encode()) for number in range(13)]
    (tmp_path / "a.tar").write_bytes(tar_of(members[:2]))
    (tmp_path / "b.tar").write_bytes(tar_of(members[2:]))
    dataset = hr.ShardDataset(tmp_path, fields=("cls",))
    job = Job(world_size=3, batch_size=4, options={"tail": "keep", "on_error": "skip", "num_workers": 1})
    counted, steps = [], set()
    for loader in job.loaders(dataset):
        batches = [(labels, np.array(loader.valid)) for labels, *_ in loader]
        steps.add(len(batches))
        counted += [one for labels, valid in batches for one in labels[valid].tolist()]
    assert steps == {2}
    assert sorted(counted) == [number for number in range(13) if number not in (3, 12)]


class Photographs:
    """A map-style dataset that opens images itself; some are damaged."""

    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = np.asarray(pillow_rgb(self.files[index]))
        return torch.from_numpy(image[:8, :8].copy()), index


@pytest.mark.parametrize("num_workers", [0, 2])
def test_damaged_images_that_python_opens_are_skipped_on_all_ranks_alike(num_workers, small_photographs):
    """The last sample, all that the last step has, is one of them: every rank makes that step."""
    files = list(small_photographs[:13])
    files[3] = files[3][: len(files[3]) // 2]
    files[12] = b"no image"
    job = Job(world_size=3, batch_size=4, options={"tail": "keep", "on_error": "skip", "num_workers": num_workers})
    counted = []
    for loader in job.loaders(Photographs(files)):
        batches = [(labels, np.array(loader.valid)) for _, labels, _, _ in loader]
        assert [len(labels) for labels, _ in batches] == [4, 4]
        counted += [one for labels, valid in batches for one in labels[valid].tolist()]
    assert sorted(counted) == [number for number in range(13) if number not in (3, 12)]


def test_where_every_sample_is_damaged_the_fault_is_raised():
    loader = hr.DataLoader(Photographs([b"no image"] * 5), 2, on_error="skip", num_workers=0)
    with pytest.raises(UnidentifiedImageError) as caught:
        next(iter(loader))
    assert "sample 0 of Photographs" in caught.value.__notes__[0]


def test_a_file_that_cannot_be_read_is_never_skipped():
    class Gone(Photographs):
        def __getitem__(self, index):
            if index == 1:
                raise FileNotFoundError(2, "No such file", "one.jpg")
            return index

    loader = hr.DataLoader(Gone(range(5)), 2, on_error="skip", num_workers=0)
    with pytest.raises(FileNotFoundError):
        next(iter(loader))


def test_a_batch_without_a_good_row_is_of_the_kind_of_all_others(tmp_path):
    members = [(f"{number:02d}.{field}", data) for number in range(4) for field, data in FIELDS_OF[number]]
    (tmp_path / "a.tar").write_bytes(tar_of(members))
    dataset = hr.ShardDataset(tmp_path, fields=("cls", "txt", "bin"))
    loader = hr.DataLoader(dataset, 2, on_error="skip", num_workers=0)
    labels, texts, data = list(loader)[1]
    assert labels.tolist() == [0, 0]
    assert texts == ("", "")
    assert data == (b"", b"")
    assert loader.valid.tolist() == [False, False]
