"""Class folders as a source."""

from __future__ import annotations

import os

import pytest

from headrace.errors import SourceError
from headrace.pack.image_folder import ImageFolderSource
from headrace.pack.options import PackOptions


def scan(folder, **options):
    return ImageFolderSource().scan(str(folder), PackOptions(**options), lambda _: None)


def test_labels_are_positions_of_sorted_class_folders(tree):
    found = scan(tree({"dog/1.jpg": b"d", "cat/1.png": b"c", "cat/2.JPG": b"cc"}))
    assert found.class_names == ("cat", "dog")
    assert list(found.catalog.keys) == ["cat/1", "cat/2", "dog/1"]
    parts = [[(part.field, part.data or part.size_bytes) for part in found.catalog.parts(row)] for row in range(3)]
    assert parts == [[("png", 1), ("cls", b"0")], [("jpg", 2), ("cls", b"0")], [("jpg", 1), ("cls", b"1")]]


def test_samples_come_in_the_order_of_torchvision(tree):
    datasets = pytest.importorskip("torchvision.datasets")
    names = ["b/z/1.jpg", "b/1.jpg", "b/a b/1.jpg", "b/a/1.jpg", "a-c/2.jpg", "a/10.jpg", "a/9.jpg", "a/A.jpg"]
    folder = tree(dict.fromkeys(names, b"x"))
    theirs = [os.path.relpath(path, folder) for path, _ in datasets.ImageFolder(folder).samples]
    assert [f"{key}.jpg" for key in scan(folder).catalog.keys] == theirs
    assert list(datasets.ImageFolder(folder).classes) == list(scan(folder).class_names)


def test_hidden_and_other_files_are_ignored_and_counted(tree):
    found = scan(tree({"a/1.jpg": b"x", "a/._1.jpg": b"x", "a/.DS_Store": b"x", "a/notes.txt": b"x", "list": b"x"}))
    assert list(found.catalog.keys) == ["a/1"]
    assert found.num_ignored == 4


def test_a_class_without_images_is_refused_by_name(tree):
    with pytest.raises(SourceError, match="empty-class"):
        scan(tree({"a/1.jpg": b"x", "empty-class/readme.txt": b"x"}))


def test_no_images_at_all_names_the_folder(tree):
    folder = tree({"a/1.txt": b"x"})
    with pytest.raises(SourceError, match=str(folder)):
        scan(folder)


def test_dots_in_names_are_refused_with_the_remedy_and_replaced_on_request(tree):
    folder = tree({"a/img.0001.jpg": b"x", "a/img.0002.jpg": b"x"})
    with pytest.raises(SourceError, match=r"2 of 2 .*img\.0001.*--replace-dots"):
        scan(folder)
    assert list(scan(folder, dots="replace").catalog.keys) == ["a/img_0001", "a/img_0002"]


def test_dots_in_folders_are_no_trouble(tree):
    assert list(scan(tree({"v1.5/1.jpg": b"x"})).catalog.keys) == ["v1.5/1"]


def test_names_that_become_one_key_are_refused(tree):
    folder = tree({"a/i.1.jpg": b"x", "a/i_1.jpg": b"x"})
    with pytest.raises(SourceError, match="a/i_1"):
        scan(folder, dots="replace")
    with pytest.raises(SourceError, match="a/1"):
        scan(tree({"a/1.jpg": b"x", "a/1.png": b"x"}, "other"))


def test_classes_that_look_like_splits_are_noted(tree):
    assert "splits" in scan(tree({"train/1.jpg": b"x", "val/1.jpg": b"x"})).notes[0]


def test_a_name_that_is_not_utf8_is_refused(tree):
    folder = tree({"a/1.jpg": b"x"})
    try:
        (folder / "a" / os.fsdecode(b"\xff.jpg")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    with pytest.raises(SourceError, match="UTF-8"):
        scan(folder)


def test_a_link_in_a_circle_is_refused(tree):
    folder = tree({"a/1.jpg": b"x"})
    (folder / "a" / "loop").symlink_to(folder)
    with pytest.raises(SourceError, match="loop"):
        scan(folder)


def test_a_link_to_nothing_is_refused_by_name(tree):
    folder = tree({"a/1.jpg": b"x"})
    (folder / "a" / "2.jpg").symlink_to(folder / "gone.jpg")
    with pytest.raises(SourceError, match=r"2\.jpg"):
        scan(folder)
