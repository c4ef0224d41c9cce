"""Packing from end to end: what goes in comes out, always the same, whatever interrupts it."""

from __future__ import annotations

import io
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from headrace.errors import (
    DiskFullError,
    KeyRefusedError,
    OptionError,
    SourceError,
    StorageError,
    TruncatedShardError,
    UnsafeFieldError,
)
from headrace.pack import ListOptions, PackOptions, ResizeOptions, pack
from headrace.shards import ShardIndex, md5_of_file
from headrace.shards.index_file import read_head
from tests.unprivileged import unprivileged


def shards_of(folder):
    return sorted(folder.glob("*.tar"))


def test_what_goes_in_comes_out(small_tree, tmp_path, members):
    report = pack(str(small_tree), str(tmp_path / "out"), PackOptions(samples_per_shard=70))
    expected = {}
    for path in small_tree.rglob("*.jpg"):
        key = str(path.relative_to(small_tree).with_suffix(""))
        expected[f"{key}.jpg"] = path.read_bytes()
        expected[f"{key}.cls"] = key[5:6].encode()
    assert members(tmp_path / "out") == expected
    assert report.num_samples == 300
    assert report.kind == "image-folder"
    assert report.class_names == ("class0", "class1", "class2")
    assert [ShardIndex.open(path).num_samples for path in shards_of(tmp_path / "out")] == [60] * 5


def test_webdataset_reads_the_shards(small_tree, tmp_path):
    readers = pytest.importorskip("webdataset.tariterators")
    pack(str(small_tree), str(tmp_path / "out"), PackOptions(samples_per_shard=100))
    found = {}
    for path in shards_of(tmp_path / "out"):
        with path.open("rb") as stream:
            files = readers.tar_file_expander([{"url": str(path), "stream": stream}])
            found |= {sample["__key__"]: sample for sample in readers.group_by_keys(files)}
    assert len(found) == 300
    assert found["class1/0004"]["jpg"] == (small_tree / "class1" / "0004.jpg").read_bytes()
    assert found["class1/0004"]["cls"] == b"1"


def test_the_dataset_index_is_one_of_wids(small_tree, tmp_path):
    pack(str(small_tree), str(tmp_path / "out"), PackOptions(samples_per_shard=100))
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert index["__kind__"] == "wids-shard-index-v1"
    for entry, path in zip(index["shardlist"], shards_of(tmp_path / "out"), strict=True):
        assert entry == {
            "url": path.name,
            "nsamples": 100,
            "filesize": path.stat().st_size,
            "md5sum": md5_of_file(path),
            "headrace_headers": read_head(f"{path}.index").stamp.headers,
        }
    assert index["headrace"]["class_names"] == ["class0", "class1", "class2"]


def test_shuffled_by_default_and_in_order_on_request(small_tree, tmp_path, members):
    pack(str(small_tree), str(tmp_path / "a"))
    pack(str(small_tree), str(tmp_path / "b"), PackOptions(shuffle_seed=1))
    pack(str(small_tree), str(tmp_path / "c"), PackOptions(shuffle=False))
    orders = [[name for name in members(tmp_path / folder) if name.endswith(".jpg")] for folder in "abc"]
    assert orders[2] == sorted(orders[2])
    assert len({tuple(order) for order in orders}) == 3
    assert set(orders[0]) == set(orders[1]) == set(orders[2])
    labels = [int(name[5]) for name in orders[0]]
    runs = 1 + sum(a != b for a, b in itertools.pairwise(labels))
    assert runs > 150  # sorted by class there would be 3, and 200 are to be expected of a shuffle


@pytest.mark.parametrize("resize", [None, ResizeOptions(shorter_px=64)])
def test_the_bytes_do_not_depend_on_the_number_of_workers(photographs, tmp_path, snapshot, resize):
    for num_workers in (1, 2, 4):
        options = PackOptions(name="x", shard_size_bytes=200_000, num_workers=num_workers, resize=resize)
        pack(str(photographs), str(tmp_path / str(num_workers)), options)
    first = snapshot(tmp_path / "1")
    assert len(first) > 4
    assert snapshot(tmp_path / "2") == first
    assert snapshot(tmp_path / "4") == first


def test_file_times_and_places_do_not_change_the_shards(small_tree, tmp_path, members):
    shutil.copytree(small_tree, tmp_path / "copy")
    for number, path in enumerate(sorted((tmp_path / "copy").rglob("*.jpg"))):
        os.utime(path, (number, number))
        path.chmod(0o600)
    pack(str(small_tree), str(tmp_path / "a"), PackOptions(name="x", samples_per_shard=100))
    pack(str(tmp_path / "copy"), str(tmp_path / "b"), PackOptions(name="x", samples_per_shard=100))
    names = ["index.json", *(f"x-{number:06d}.tar{suffix}" for number in range(3) for suffix in ("", ".index"))]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_sizes_differ_by_at_most_one_sample_and_keep_within_what_was_asked(small_tree, tmp_path):
    pack(str(small_tree), str(tmp_path / "out"), PackOptions(shard_size_bytes=150_000))
    sizes = [path.stat().st_size for path in shards_of(tmp_path / "out")]
    assert len(sizes) > 5
    assert max(sizes) <= 150_000
    assert max(sizes) - min(sizes) <= 512 + 6144 + 1024


KILLED = """
import sys
from headrace.pack import PackOptions, ResizeOptions, pack
source, destination, resize = sys.argv[1:]
options = PackOptions(name="x", shard_size_bytes=40_000, resize=ResizeOptions(shorter_px=48) if resize else None)
pack(source, destination, options)
"""


@pytest.mark.parametrize("resize", ["", "resize"])
def test_killed_at_any_point_it_goes_on_and_ends_with_the_same_bytes(photographs, tmp_path, snapshot, resize):
    command = [sys.executable, "-c", KILLED, str(photographs)]
    started = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole"), resize], check=True)
    took_s = time.monotonic() - started
    expected = snapshot(tmp_path / "whole")
    folder = tmp_path / "killed"
    num_killed = 0
    for attempt in range(6):
        process = subprocess.Popen([*command, str(folder), resize])
        try:
            process.wait(timeout=took_s * (0.4 + 0.1 * attempt))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            num_killed += 1
        names = {path.name for path in folder.glob("*.tar")} if folder.exists() else set()
        assert all((folder / name).read_bytes() == expected[name] for name in names)
    assert num_killed > 0
    subprocess.run([*command, str(folder), resize], check=True)
    assert snapshot(folder) == expected


def interrupt_after(num_calls):
    """A progress function that stops the run like Ctrl-C at its so-manieth report of writing."""
    calls = itertools.count()

    def on_progress(now):
        if now.stage == "write" and next(calls) == num_calls:
            raise KeyboardInterrupt

    return on_progress


@pytest.mark.parametrize("num_calls", [0, 1, 3])
def test_interrupted_it_leaves_whole_shards_only_and_keeps_them(small_tree, tmp_path, snapshot, num_calls):
    options = PackOptions(name="x", samples_per_shard=50)
    pack(str(small_tree), str(tmp_path / "whole"), options)
    expected = snapshot(tmp_path / "whole")
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        pack(str(small_tree), str(folder), options, on_progress=interrupt_after(num_calls))
    left = snapshot(folder)
    assert {name for name in left if name.endswith(".tar")} == {f"x-{number:06d}.tar" for number in range(num_calls)}
    assert not [name for name in left if name.endswith(".tmp")]
    report = pack(str(small_tree), str(folder), options)
    assert report.num_kept_shards == num_calls
    assert snapshot(folder) == expected


def test_the_same_command_again_finds_all_done(small_tree, tmp_path, snapshot):
    options = PackOptions(samples_per_shard=50)
    pack(str(small_tree), str(tmp_path / "out"), options)
    before = snapshot(tmp_path / "out")
    times = {path.name: path.stat().st_mtime_ns for path in shards_of(tmp_path / "out")}
    assert pack(str(small_tree), str(tmp_path / "out"), options).num_kept_shards == 6
    assert snapshot(tmp_path / "out") == before
    assert {path.name: path.stat().st_mtime_ns for path in shards_of(tmp_path / "out")} == times


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "index"])
def test_a_finished_shard_is_checked_by_its_bytes_and_written_again(small_tree, tmp_path, snapshot, harm):
    options = PackOptions(samples_per_shard=50)
    pack(str(small_tree), str(tmp_path / "out"), options)
    before = snapshot(tmp_path / "out")
    shard = shards_of(tmp_path / "out")[2]
    content = bytearray(shard.read_bytes())
    if harm == "flip":
        content[5000] ^= 1
        shard.write_bytes(content)
    elif harm == "cut":
        shard.write_bytes(content[:-512])
    elif harm == "remove":
        shard.unlink()
    else:
        shard.with_name(shard.name + ".index").write_bytes(b"no index")
    report = pack(str(small_tree), str(tmp_path / "out"), options)
    assert report.num_kept_shards == (6 if harm == "index" else 5)
    if harm != "index":
        assert snapshot(tmp_path / "out") == before


def test_shards_of_another_source_are_not_touched_unless_asked_for(small_tree, tmp_path, snapshot, members):
    folder = tmp_path / "out"
    pack(str(small_tree), str(folder), PackOptions(samples_per_shard=50))
    before = snapshot(folder)
    with pytest.raises(SourceError, match="--overwrite"):
        pack(str(small_tree), str(folder), PackOptions(samples_per_shard=100))
    assert snapshot(folder) == before
    pack(str(small_tree), str(folder), PackOptions(samples_per_shard=100, overwrite=True))
    assert len(shards_of(folder)) == 3
    assert len(members(folder)) == 600


def test_an_interrupted_replacement_leaves_no_list_of_shards_that_are_gone(small_tree, tmp_path):
    folder = tmp_path / "out"
    pack(str(small_tree), str(folder), PackOptions(samples_per_shard=50))
    options = PackOptions(samples_per_shard=100, overwrite=True)
    with pytest.raises(KeyboardInterrupt):
        pack(str(small_tree), str(folder), options, on_progress=interrupt_after(2))
    assert not (folder / "index.json").exists()
    pack(str(small_tree), str(folder), options)
    assert [entry["url"] for entry in json.loads((folder / "index.json").read_text())["shardlist"]] == [
        path.name for path in shards_of(folder)
    ]


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_that_no_order_has_is_refused_before_anything_is_touched(small_tree, tmp_path, snapshot, seed):
    folder = tmp_path / "out"
    pack(str(small_tree), str(folder), PackOptions(samples_per_shard=50))
    before = snapshot(folder)
    with pytest.raises(OptionError, match="shuffle_seed"):
        pack(str(small_tree), str(folder), PackOptions(shuffle_seed=seed, overwrite=True))
    assert snapshot(folder) == before
    pack(str(small_tree), str(folder), PackOptions(shuffle_seed=(1 << 64) - 1, overwrite=True))


def test_shards_of_somebody_else_are_not_touched(small_tree, tmp_path):
    (tmp_path / "out").mkdir()
    foreign = tmp_path / "out" / "out-000000.tar"
    foreign.write_bytes(b"precious")
    with pytest.raises(SourceError, match="not packed by this command"):
        pack(str(small_tree), str(tmp_path / "out"))
    foreign.rename(tmp_path / "out" / "other.tar")
    with pytest.raises(SourceError, match=r"other\.tar"):
        pack(str(small_tree), str(tmp_path / "out"))
    assert (tmp_path / "out" / "other.tar").read_bytes() == b"precious"


def test_a_source_that_changed_between_runs_is_noticed(tmp_path, small_tree):
    shutil.copytree(small_tree, tmp_path / "copy")
    options = PackOptions(samples_per_shard=50)
    with pytest.raises(KeyboardInterrupt):
        pack(str(tmp_path / "copy"), str(tmp_path / "out"), options, on_progress=interrupt_after(2))
    (tmp_path / "copy" / "class0" / "0003.jpg").write_bytes(b"new")
    with pytest.raises(SourceError, match="changed since"):
        pack(str(tmp_path / "copy"), str(tmp_path / "out"), options)


def test_a_file_that_changes_while_it_is_packed_is_named(tmp_path, small_tree):
    shutil.copytree(small_tree, tmp_path / "copy")
    victim = tmp_path / "copy" / "class0" / "0003.jpg"

    def on_progress(now):
        if now.stage == "list":
            victim.write_bytes(b"shorter")

    with pytest.raises(SourceError, match=r"0003\.jpg"):
        pack(str(tmp_path / "copy"), str(tmp_path / "out"), on_progress=on_progress)
    assert not shards_of(tmp_path / "out")


def test_a_file_that_goes_away_while_it_is_packed_is_named(tmp_path, small_tree):
    shutil.copytree(small_tree, tmp_path / "copy")
    victim = tmp_path / "copy" / "class0" / "0003.jpg"
    with pytest.raises(StorageError, match=r"0003\.jpg"):
        pack(
            str(tmp_path / "copy"),
            str(tmp_path / "out"),
            on_progress=lambda now: now.stage == "list" and victim.unlink(missing_ok=True),
        )
    assert not shards_of(tmp_path / "out")


def test_an_unreadable_file_is_named(small_tree):
    names = {path: path.read_bytes() for path in small_tree.rglob("*.jpg")}
    with unprivileged() as folder:
        for path, data in names.items():
            copy = folder / "copy" / path.relative_to(small_tree)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
        (folder / "copy" / "class0" / "0003.jpg").chmod(0)
        with pytest.raises(StorageError, match=r"0003\.jpg.*Permission denied"):
            pack(str(folder / "copy"), str(folder / "out"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root on Linux may mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("resize", [None, ResizeOptions(shorter_px=300)])
def test_a_full_disk_is_an_error_that_names_the_place_and_leaves_whole_shards(photographs, small_disk, resize):
    options = PackOptions(shard_size_bytes=400_000, resize=resize)
    with pytest.raises(DiskFullError, match=str(small_disk)):
        pack(str(photographs), str(small_disk / "out"), options)
    for path in shards_of(small_disk / "out"):
        ShardIndex.open(path)
    assert not list((small_disk / "out").glob(".*.tmp"))
    assert not list((small_disk / "out").glob("index.json"))


def test_a_limit_on_file_sizes_is_an_error_that_names_the_shard(photographs, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(DiskFullError, match=r"out-000000\.tar"):
            pack(str(photographs), str(tmp_path / "out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".out.pack.jsonl"]


def test_two_at_once_into_one_destination_are_refused(small_tree, tmp_path):
    def on_progress(now):
        if now.stage == "write":
            pack(str(small_tree), str(tmp_path / "out"))

    with pytest.raises(SourceError, match="another process"):
        pack(str(small_tree), str(tmp_path / "out"), on_progress=on_progress)


def test_a_destination_inside_of_the_source_is_refused(small_tree):
    with pytest.raises(SourceError, match="inside"):
        pack(str(small_tree), str(small_tree / "shards"))
    assert not (small_tree / "shards").exists()


def test_a_destination_that_is_a_file_is_refused(small_tree, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SourceError, match="no folder"):
        pack(str(small_tree), str(tmp_path / "file"))


def test_large_files_go_through_the_kernel(tmp_path, members):
    content = np.random.default_rng(0).bytes(9 << 20)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(content)
    (tmp_path / "in" / "a.txt").write_bytes(b"text")
    (tmp_path / "in" / "b.txt").write_bytes(b"")
    pack(str(tmp_path / "in"), str(tmp_path / "out"))
    assert members(tmp_path / "out") == {"a.bin": content, "a.txt": b"text", "b.txt": b""}


def test_long_names_are_planned_and_written_alike(tmp_path, members):
    names = [f"{'d' * 90}/{'e' * 40}/{'f' * 20}{number}" for number in range(5)]
    names += [f"{'g' * 120}{number}" for number in range(5)] + [f"ü/{'h' * 98}{number}" for number in range(5)]
    for name in names:
        path = tmp_path / "in" / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 700)
    pack(str(tmp_path / "in"), str(tmp_path / "out"), PackOptions(shard_size_bytes=12_000, source="siblings"))
    assert set(members(tmp_path / "out")) == {f"{name}.jpg" for name in names}
    assert max(path.stat().st_size for path in shards_of(tmp_path / "out")) <= 12_000


def test_repacking_mixes_and_joins_samples_that_lie_apart(tmp_path, members, tar_of):
    (tmp_path / "in").mkdir()
    tar_of(tmp_path / "in" / "x.tar", [("0.a", b"1"), ("1.a", b"2"), ("0.b", b"3"), ("1.b", b"4")])
    report = pack(str(tmp_path / "in"), str(tmp_path / "out"), PackOptions(shuffle=False))
    assert report.kind == "shards"
    assert list(members(tmp_path / "out").items()) == [("0.a", b"1"), ("0.b", b"3"), ("1.a", b"2"), ("1.b", b"4")]


def test_repacking_keeps_samples_apart_whose_shards_use_the_same_keys(tmp_path, members, tar_of):
    (tmp_path / "in").mkdir()
    for number in range(3):
        tar_of(tmp_path / "in" / f"s{number}.tar", [("0.txt", b"%d" % number), ("1.txt", b"x%d" % number)])
    report = pack(str(tmp_path / "in" / "s{0..2}.tar"), str(tmp_path / "out"), PackOptions(samples_per_shard=4))
    assert members(tmp_path / "out")["s2/1.txt"] == b"x2"
    assert len(members(tmp_path / "out")) == 6
    assert "same keys" in report.notes[0]


def test_repacking_keeps_class_names_and_content(small_tree, tmp_path, members):
    pack(str(small_tree), str(tmp_path / "a"), PackOptions(samples_per_shard=40))
    report = pack(str(tmp_path / "a"), str(tmp_path / "b"), PackOptions(samples_per_shard=130, shuffle_seed=5))
    assert members(tmp_path / "b") == members(tmp_path / "a")
    assert report.class_names == ("class0", "class1", "class2")


def test_a_damaged_shard_is_refused_before_anything_is_written(small_tree, tmp_path):
    pack(str(small_tree), str(tmp_path / "a"), PackOptions(samples_per_shard=150))
    shard = shards_of(tmp_path / "a")[1]
    shard.write_bytes(shard.read_bytes()[:-1600])
    with pytest.raises(TruncatedShardError, match=shard.name):
        pack(str(tmp_path / "a"), str(tmp_path / "b"))
    assert not (tmp_path / "b").exists()


def test_lists_are_packed_with_their_labels(small_tree, tmp_path, members):
    (tmp_path / "list.jsonl").write_text(
        "".join(
            json.dumps({"file": f"{small_tree}/class1/{number:04d}.jpg", "label": number, "text": f"n{number}"}) + "\n"
            for number in (1, 4)
        )
    )
    options = PackOptions(list_options=ListOptions(fields={"text": "txt"}))
    pack(str(tmp_path / "list.jsonl"), str(tmp_path / "out"), options)
    found = members(tmp_path / "out")
    assert found["0004.cls"] == b"4"
    assert found["0004.txt"] == b"n4"
    assert found["0004.jpg"] == (small_tree / "class1" / "0004.jpg").read_bytes()


def test_images_shrink_only_and_keep_orientation_and_colour(photographs, tmp_path, members):
    folder = tmp_path / "in" / "a"
    folder.mkdir(parents=True)
    large = Image.open(next(photographs.rglob("*.jpg"))).resize((900, 600))
    exif = Image.Exif()
    exif[0x0112] = 6
    large.save(folder / "turned.jpg", quality=90, exif=exif)
    large.save(folder / "other.png")
    large.save(folder / "misnamed.jpg", "PNG")
    large.resize((90, 60)).save(folder / "small.jpg")
    large.convert("CMYK").save(folder / "print.jpg", quality=90)
    large.convert("L").save(folder / "grey.jpg", quality=90)
    report = pack(
        str(tmp_path / "in"), str(tmp_path / "out"), PackOptions(resize=ResizeOptions(shorter_px=100, quality=95))
    )
    found = members(tmp_path / "out")
    for kept in ("other.png", "misnamed.jpg", "small.jpg"):
        assert found[f"a/{kept}"] == (folder / kept).read_bytes()
    for name, mode in (("turned", "RGB"), ("print", "CMYK"), ("grey", "L")):
        with Image.open(io.BytesIO(found[f"a/{name}.jpg"])) as image:
            assert image.size == (150, 100)
            assert image.mode == mode
            assert image.getexif().get(0x0112, 1) == (6 if name == "turned" else 1)
            original = Image.open(folder / f"{name}.jpg").convert("RGB").resize((150, 100), Image.Resampling.LANCZOS)
            assert np.abs(np.asarray(image.convert("RGB"), dtype=float) - np.asarray(original)).mean() < 4
    assert report.num_resized == 3
    assert not list((tmp_path / "out").glob(".*spool*"))


def test_a_source_behind_a_link_is_resized_too(photographs, tmp_path, members):
    (tmp_path / "link").symlink_to(photographs)
    pack(str(tmp_path / "link"), str(tmp_path / "out"), PackOptions(resize=ResizeOptions(shorter_px=32)))
    assert len(members(tmp_path / "out")) == 120


@pytest.mark.parametrize("harm", [lambda data: data[:2000], lambda _: b"", lambda _: b"<html>"])
def test_a_damaged_image_is_named_or_kept_on_request(photographs, tmp_path, members, harm):
    shutil.copytree(photographs, tmp_path / "in")
    victim = sorted((tmp_path / "in").rglob("*.jpg"))[7]
    victim.write_bytes(harm(victim.read_bytes()))
    resize = ResizeOptions(shorter_px=32)
    with pytest.raises(SourceError, match=f"{victim.name}.*keep-damaged"):
        pack(str(tmp_path / "in"), str(tmp_path / "out"), PackOptions(resize=resize))
    assert not shards_of(tmp_path / "out")
    keep = ResizeOptions(shorter_px=32, damaged="keep")
    report = pack(str(tmp_path / "in"), str(tmp_path / "kept"), PackOptions(resize=keep))
    assert members(tmp_path / "kept")[str(victim.relative_to(tmp_path / "in"))] == victim.read_bytes()
    assert any("1 image could not be decoded" in note for note in report.notes)


def test_names_that_would_not_come_back_are_refused_before_anything_is_written(tmp_path):
    (tmp_path / "list.csv").write_text("path,key\nfile.txt,a.b\n")
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises((SourceError, KeyRefusedError), match=r"a\.b"):
        pack(str(tmp_path / "list.csv"), str(tmp_path / "out"))
    (tmp_path / "list.csv").write_text("path,key\nfile.txt,../up\n")
    with pytest.raises(KeyRefusedError, match=r"\.\./up"):
        pack(str(tmp_path / "list.csv"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_fields_that_can_run_code_need_permission(tmp_path, members):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pkl").write_bytes(b"x")
    with pytest.raises(UnsafeFieldError, match="pkl"):
        pack(str(tmp_path / "in"), str(tmp_path / "out"), PackOptions(source="siblings"))
    pack(str(tmp_path / "in"), str(tmp_path / "out"), PackOptions(source="siblings", allow_pickle=("pkl",)))
    assert members(tmp_path / "out") == {"a.pkl": b"x"}


@pytest.mark.parametrize(
    "options",
    [
        {"shard_size_bytes": 1 << 20, "samples_per_shard": 5},
        {"shard_size_bytes": 100},
        {"samples_per_shard": 0},
        {"num_workers": 0},
        {"name": "a/b"},
        {"name": ""},
    ],
)
def test_options_that_are_not_accepted(options):
    with pytest.raises(OptionError):
        PackOptions(**options)


def test_a_source_that_is_not_there_or_nothing(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        pack(str(tmp_path / "gone"), str(tmp_path / "out"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="empty"):
        pack(str(tmp_path / "empty"), str(tmp_path / "out"))
    (tmp_path / "note.docx").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"note\.docx"):
        pack(str(tmp_path / "note.docx"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert Path(tmp_path / "empty").is_dir()
