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
