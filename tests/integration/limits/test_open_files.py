"""Many shards, many files, many workers under a low limit of open files: it works, or is told before it starts."""

import pytest
from PIL import Image

import headrace as hr
from tests.integration.limits.limited import output_of, run_limited

NUM = 300


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """300 shards of two samples, each of which holds its number."""
    folder = tmp_path_factory.mktemp("many")
    with hr.ShardWriter(folder / "x-%03d.tar", samples_per_shard=2) as writer:
        for number in range(2 * NUM):
            writer.write({"__key__": f"k{number}", "cls": number})
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """300 files; picture i is all of colour i % 256."""
    folder = tmp_path_factory.mktemp("pictures") / "one"
    folder.mkdir()
    for number in range(NUM):
        Image.new("RGB", (8, 8), (number % 256, 0, 0)).save(folder / f"{number:03}.png")
    return folder.parent


OF_SHARDS = """
import sys
import headrace as hr
from headrace._base.open_files import num_open_files
most = 0
loader = hr.DataLoader(hr.ShardDataset(sys.argv[1], fields=("cls",)), batch_size=300, shuffle="full", num_workers=3)
for epoch in range(2):
    found = []
    for (labels,) in loader:
        found += labels.tolist()
        most = max(most, num_open_files())
    assert sorted(found) == list(range(600)), found
print(most)
"""


@pytest.mark.parametrize("limit", [64, 256])
def test_batches_that_lie_in_more_shards_than_files_may_be_open(limit, shards):
    most = int(output_of(run_limited(OF_SHARDS, shards, open_files=(limit, limit))))
    assert most < limit * 3 / 4, "a quarter is for shards that are read, one for those that are kept"


OF_SEVERAL = """
import sys
import torch
import headrace as hr
parts = [hr.ShardDataset(f"{sys.argv[1]}/x-{tens:02}{{0..9}}.tar", fields=("cls",)) for tens in range(30)]
loader = hr.DataLoader(torch.utils.data.ConcatDataset(parts), batch_size=100, shuffle="full", num_workers=4)
assert sorted(n for (labels,) in loader for n in labels.tolist()) == list(range(600))
"""


def test_several_datasets_share_what_may_be_open(shards):
    output_of(run_limited(OF_SEVERAL, shards, open_files=(64, 64)))


OF_FILES = """
import sys
import headrace as hr
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
dataset = ImageFolder(sys.argv[1], v2.PILToTensor())
loader = hr.DataLoader(dataset, batch_size=200, shuffle=True, num_workers=2, extras="index")
seen = [(int(i), int(image[0, 0, 0])) for images, _, index in loader for i, image in zip(index, images)]
assert sorted(seen) == [(i, i % 256) for i in range(300)], seen
"""


def test_batches_of_more_files_than_may_be_open(pictures):
    output_of(run_limited(OF_FILES, pictures, open_files=(64, 64)))


OF_WORKERS = """
import sys, warnings
import torch
import headrace as hr
from headrace._base.open_files import num_open_files, open_file_limits
class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        return torch.full((1000,), index)
loader = hr.DataLoader(Numbers(), batch_size=4, engine="processes", num_workers=int(sys.argv[1]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kept, most = [], 0
    for batch in loader:
        kept.append(batch)
        most = max(most, num_open_files())
assert [int(row[0]) for batch in kept for row in batch] == list(range(400))
print(loader._life.running().fit.workers.num_workers, most, open_file_limits()[0], sep="\\n")
print(*(one.message for one in caught), sep="\\n")
print(loader.explain())
loader.close()
"""


def test_workers_for_which_the_limit_has_no_room():
    num_workers, most, limit, *said = output_of(run_limited(OF_WORKERS, 8, open_files=(64, 64))).splitlines()
    assert 1 <= int(num_workers) < 8
    assert int(most) < int(limit) == 64
    text = "\n".join(said)
    assert f"num_workers is reduced to {num_workers}: 8, as asked, do not fit" in text
    assert f"{num_workers} of 8 worker processes" in text


def test_the_limit_is_raised_where_that_is_allowed():
    num_workers, most, limit, *said = output_of(run_limited(OF_WORKERS, 8, open_files=(64, 4096))).splitlines()
    assert num_workers == "8"
    assert int(most) < int(limit) < 200
    assert f"limit raised from 64 to {limit}" in "\n".join(said)
    assert "reduced" not in "\n".join(said)


OF_NONE = """
import os
import headrace as hr
from headrace.errors import OpenFilesError
held = [os.open("/dev/null", os.O_RDONLY) for _ in range(45 - len(os.listdir("/dev/fd")))]
try:
    for _ in hr.DataLoader(list(range(8)), engine="processes", num_workers=2):
        raise AssertionError("it ran")
except OpenFilesError as error:
    print(error)
"""


def test_not_even_one_worker_fits_and_that_is_told_before_the_start():
    said = output_of(run_limited(OF_NONE, open_files=(64, 64)))
    assert "1 worker process cannot be had: too few files may be open; got a limit of 64" in said
    assert "ulimit -n" in said


OF_STREAMS = """
import random, sys
from contextlib import closing
import torch
import headrace as hr
from headrace.errors import OpenFilesError
class Numbers(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(10))
class Drawing(torch.utils.data.Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, index):
        return index + 0 * int(torch.randint(10, ()))
def draw(batch):
    return batch + int(random.random())
def batches(dataset, **options):
    with closing(hr.DataLoader(dataset, 4, **options)) as loader:
        print(loader.explain().replace("\\n", " "))
        return [batch.tolist() for batch in loader]
expected = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
assert batches(Numbers()) == expected
assert batches(Drawing(), batch_transform=draw) == expected
for options in ({"num_workers": 1}, {"engine": "processes"}):
    try:
        batches(Numbers(), **options)
    except OpenFilesError as error:
        print("refused:", error)
"""


def test_without_room_for_a_worker_process_the_caller_makes_what_it_would_have_made_unless_workers_are_asked_for():
    said = output_of(run_limited(OF_STREAMS, open_files=(20, 20))).splitlines()
    assert len(said) == 4
    for one in said[:2]:
        assert "there is no room for a worker process: a limit of 20" in one
    for one in said[2:]:
        assert one.startswith("refused: 1 worker process cannot be had: too few files may be open; got a limit of 20, ")
        assert "8 for each worker (its socket" in one
        assert "16 for what all of them share" in one
        assert "ulimit -n" in one
