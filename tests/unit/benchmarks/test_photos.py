"""Crops of wallpapers lie inside them and depend on the seed alone."""

from __future__ import annotations

import random

import pytest
from PIL import Image

from benchmarks import photos


@pytest.fixture
def wallpapers(tmp_path, monkeypatch):
    folder = tmp_path / "backgrounds"
    folder.mkdir()
    for number, size in enumerate([(1600, 1200), (700, 1100), (320, 200)]):
        noise = Image.effect_noise(size, 60).convert("RGB")
        noise.save(folder / f"wallpaper{number}.jpg", quality=90)
    monkeypatch.setattr(photos, "SOURCES", ((str(folder), "*.jpg"),))
    return folder


@pytest.mark.parametrize("size", [(1600, 1200), (500, 375), (320, 200), (100, 5000)])
def test_boxes_lie_inside(size):
    stream = random.Random(3)
    for _ in range(200):
        target = stream.choice(photos.SIZES)
        left, top, right, bottom = photos.draw_box(size, target, stream)
        assert 0 <= left < right <= size[0]
        assert 0 <= top < bottom <= size[1]


@pytest.mark.usefixtures("wallpapers")
def test_the_same_seed_gives_the_same_files(tmp_path):
    folders = [tmp_path / name for name in ("first", "second", "other")]
    for folder, seed in zip(folders, (0, 0, 1), strict=True):
        photos.make(folder, num=10, num_classes=3, seed=seed)
    files = [[path.read_bytes() for path in sorted(folder.rglob("*.jpg"))] for folder in folders]
    assert [len(part) for part in files] == [10, 10, 10]
    assert files[0] == files[1]
    assert files[0] != files[2]
    assert sorted(path.name for path in (folders[0] / "class00").iterdir()) == [
        "000000.jpg",
        "000003.jpg",
        "000006.jpg",
        "000009.jpg",
    ]


def test_without_wallpapers_the_packages_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(photos, "SOURCES", ((str(tmp_path), "*.jpg"),))
    with pytest.raises(SystemExit, match="gnome-backgrounds"):
        photos.make(tmp_path / "out")
