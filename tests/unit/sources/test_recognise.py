"""What a source is taken for."""

from __future__ import annotations

import pytest

from headrace.errors import SourceError
from headrace.sources.recognise import recognise


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (["a/1.jpg", "b/1.jpg"], "image-folder"),
        (["a/deep/1.jpg"], "image-folder"),
        (["a/1.jpg", "a/notes.txt"], "image-folder"),
        (["1.jpg", "2.jpg"], "siblings"),
        (["1.jpg", "1.txt"], "siblings"),
        (["a/1.jpg", "a/1.json"], "siblings"),
        (["a/1.jpg", "a/1.seg.png", "a/1.txt"], "siblings"),
        (["1.npy", "1.txt"], "siblings"),
        (["README.md", "a/1.npy", "a/1.txt"], "siblings"),
        (["x-0.tar", "index.json"], "shards"),
        ([".hidden.tar", "a/1.jpg"], "image-folder"),
    ],
)
def test_folders(tree, files, kind):
    found, reason = recognise(str(tree(dict.fromkeys(files, b"x"))))
    assert found == kind
    assert reason


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.tar", "shards"), ("a-{0..9}.tar", "shards"), ("*.tar", "shards"), ("a.csv", "list"), ("A.Parquet", "list")],
)
def test_names(name, kind):
    assert recognise(name)[0] == kind


def test_links_that_lead_up_are_not_followed(tree):
    folder = tree({"a/1.jpg": b"x"})
    (folder / "a" / "up").symlink_to(folder)
    (folder / "b").symlink_to(folder / "a")
    assert recognise(str(folder))[0] == "image-folder"


def test_what_is_nothing_is_named(tree, tmp_path):
    with pytest.raises(SourceError, match=r"gone.*Name a folder"):
        recognise(str(tmp_path / "gone"))
    with pytest.raises(SourceError, match="not a source"):
        recognise(str(tree({"a.pdf": b"x"}) / "a.pdf"))
    with pytest.raises(SourceError, match=r"files in the source, but no images.*siblings"):
        recognise(str(tree({"README.md": b"x", "b/1.txt": b"x"})))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no images and no other files"):
        recognise(str(tmp_path / "empty"))


@pytest.mark.parametrize("place", ["self", "a/self.jpg"])
def test_links_to_themselves_are_named(tree, place):
    root = tree({"a/1.jpg": b"x"})
    (root / place).symlink_to((root / place).name)
    with pytest.raises(SourceError, match="a link that leads in a circle"):
        recognise(str(root))


def test_a_source_that_is_a_link_to_itself_is_named(tmp_path):
    (tmp_path / "self").symlink_to("self")
    with pytest.raises(SourceError, match="a link that leads to nothing, or in a circle"):
        recognise(str(tmp_path / "self"))
