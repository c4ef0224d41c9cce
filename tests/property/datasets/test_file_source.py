import os

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from headrace.datasets import file_source
from headrace.datasets.file_source import FileSource

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
PATHS = st.lists(st.one_of(NAMES, NAMES.map("/data/a/".__add__), NAMES.map("/data/".__add__)), max_size=30)


def slow_content(paths, labels, root):
    """The hash, path by path: each without the root, ended by a zero byte, then the labels."""
    digest = xxhash.xxh3_64()
    prefix = os.fsencode(root).rstrip(b"/") + b"/"
    for path in paths:
        digest.update(os.fsencode(path).removeprefix(prefix) + b"\0")
    for label in labels:
        digest.update(int(label).to_bytes(8, "little", signed=True))
    return digest.hexdigest()


@pytest.mark.parametrize("together", [1, 7, 1 << 14])
@given(paths=PATHS, root=st.sampled_from(["/data/a", "/data/a/", "/data", "", "/"]), data=st.data())
def test_identity_is_the_hash_path_by_path(paths, root, data, together):
    labels = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=len(paths), max_size=len(paths)))
    source = FileSource(paths, labels, root=root, field="image", label_field="label")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_source, "HASHED_TOGETHER", together)
        identity = source.identity()
    assert identity == {"kind": "files", "num": len(paths), "content": slow_content(paths, labels, root)}


def test_identity_is_the_same_wherever_the_folder_lies():
    names = [f"class{number % 3}/{number}.jpg" for number in range(50)]
    labels = np.arange(50) % 3
    sources = [
        FileSource([f"{root}/{name}" for name in names], labels, root=root, field="image", label_field="label")
        for root in ("/a", "/mnt/disk/b")
    ]
    assert sources[0].identity() == sources[1].identity()
