"""JPEGs whose headers claim more than they have: an error of the sample, and no memory for what they claim."""

from __future__ import annotations

import io
import struct

import numpy as np
import psutil
import pytest
from PIL import Image
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import ImageLimitError

MOST_TAKEN_BYTES = 256 << 20


def jpeg(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.zeros((height, width), np.uint8)).save(file, "JPEG")
    return file.getvalue()


def claiming(data: bytes, width: int, height: int) -> bytes:
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def first_batch(folder, image: bytes, transform=None):
    with hr.ShardWriter(folder / "s-%02d.tar") as writer:
        for number in range(4):
            writer.write({"__key__": str(number), "jpg": image})
    dataset = hr.ShardDataset(folder, fields=("jpg",), transform=transform)
    return next(iter(hr.DataLoader(dataset, batch_size=4, num_workers=0)))


@pytest.mark.parametrize(
    ("image", "transform"),
    [
        (claiming(jpeg(64, 48), 65_500, 65_500), None),
        (claiming(jpeg(64, 48), 65_500, 65_500), v2.ToImage()),
        (jpeg(1, 60_000), v2.Compose([v2.Resize(256), v2.ToImage()])),
    ],
    ids=["as it is", "as a tensor", "a line, resized"],
)
def test_no_memory_is_taken_for_what_a_header_claims(tmp_path, image, transform) -> None:
    before = psutil.Process().memory_info().vms
    with pytest.raises(ImageLimitError) as caught:
        first_batch(tmp_path, image, transform)
    assert "pixels" in str(caught.value)
    assert psutil.Process().memory_info().vms - before < MOST_TAKEN_BYTES
