"""Shards of somebody who wants to harm whoever looks at them: a clear end, and a terminal that obeys nobody."""

from __future__ import annotations

import json
import os
import tarfile

import pytest

from headrace.cli.field_line import MAX_SHOWN
from headrace.shards.dataset_json import MOST_JSON_BYTES
from tests.tars import END, member, pairs, tar_of

COMMANDS = ("verify", "info", "index")
EXPECTED = (0, 1, 3, 4)
"""Done, findings, bad input, storage."""
NAMES = [
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "two\nx.tar: no faults",
    "back\rover",
    "\u202egnp",
    "\u2066\u200b",
    "\x9b2J\x7f",
]


def pax(body, kind=b"x"):
    return member("pax", body, type=kind)


def huge(size):
    info = tarfile.TarInfo("a.jpg")
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


SHARDS = {
    "names": tar_of([(f"{name}.{field}", b"1") for name in NAMES for field in ("jpg", "t\x1b[2Jxt")]),
    "bytes that are no text": member("a\udcff.jpg", b"1") + member("b\udcfe.t\udcffxt", b"1") + END,
    "cut": tar_of(pairs(5))[:-1700],
    "empty": b"",
    "no members": END,
    "a page": b"<html>not found</html>" * 100,
    "one key": tar_of([("k.jpg", b"1")] * 20_000),
    "one key of many fields": tar_of([(f"k.f{number}", b"") for number in range(20_000)]),
    "more than fits": huge(1 << 62) + END,
    "a name of a megabyte": pax(b"921616 path=" + b"a" * 921_603 + b"\n") + member("a.jpg") + END,
    "headers of headers": pax(b"13 path=ab.c\n") * 5000 + END,
    "one name for all": pax(b"13 path=ab.c\n", b"g") + member("a.jpg") + END,
    "links in a circle": member("a.jpg", type=tarfile.SYMTYPE, linkname="b.jpg")
    + member("b.jpg", type=tarfile.SYMTYPE, linkname="a.jpg")
    + END,
}


def end_of(headrace, command, path, *options):
    """Exit code and output of a command, which must not be what a terminal obeys, nor a traceback."""
    result = headrace(command, *options, str(path))
    shown = result.stdout + result.stderr
    assert result.exit_code in EXPECTED, shown
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert "Traceback" not in shown
    return result


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", SHARDS)
def test_a_hostile_shard(headrace, tmp_path, kind, command):
    (tmp_path / "x.tar").write_bytes(SHARDS[kind])
    shown = end_of(headrace, command, tmp_path)
    assert len(shown.stdout) < 10_000
    assert "\nx.tar: no faults" not in shown.stdout
    answer = json.loads(end_of(headrace, command, tmp_path, "--json").stdout)
    assert ("error" in answer) == (shown.exit_code in (3, 4))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["folder", "pipe", "device", "loop", "dangling"])
@pytest.mark.parametrize("name", ["x.tar", "x.tar.index", "index.json"])
def test_what_is_no_file(headrace, tmp_path, name, what, command):
    (tmp_path / "y.tar").write_bytes(tar_of(pairs(3)))
    (tmp_path / "x.tar").write_bytes(tar_of(pairs(3)))
    place = tmp_path / name
    place.unlink(missing_ok=True)
    if what == "folder":
        place.mkdir()
    elif what == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to({"device": "/dev/zero", "loop": name, "dangling": "gone"}[what])
    end_of(headrace, command, tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_endless_dataset_index_takes_no_memory(headrace, tmp_path, command):
    (tmp_path / "x.tar").write_bytes(tar_of(pairs(3)))
    (tmp_path / "index.json").touch()
    os.truncate(tmp_path / "index.json", MOST_JSON_BYTES + 1)
    assert "too large to be read" in end_of(headrace, command, tmp_path).stderr


def test_names_in_a_dataset_index_are_shown_as_escapes(headrace, tmp_path):
    (tmp_path / "x.tar").write_bytes(tar_of(pairs(3)))
    entry = {"url": "x.tar", "nsamples": 3, "filesize": (tmp_path / "x.tar").stat().st_size, "md5sum": "\x1b[31m"}
    document = {
        "__kind__": "wids-shard-index-v1",
        "wids_version": 1,
        "shardlist": [entry],
        "headrace": {"class_names": NAMES},
        "headrace_fields": NAMES,
    }
    (tmp_path / "index.json").write_text(json.dumps(document))
    shown = end_of(headrace, "info", tmp_path).stdout
    assert r"\x1b[31mred" in shown
    assert r"two\nx.tar" in shown
    assert end_of(headrace, "verify", tmp_path).exit_code == 1


def test_a_thousand_fields_are_counted_not_listed(headrace, tmp_path):
    (tmp_path / "x.tar").write_bytes(tar_of([(f"k.f{number}", b"") for number in range(1000)]))
    shown = end_of(headrace, "info", tmp_path).stdout
    assert f"and {1000 - MAX_SHOWN} more" in shown
    assert "f999" not in shown
    assert len(json.loads(end_of(headrace, "info", tmp_path, "--json").stdout)["fields"]) == 1000


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_shards_whose_names_are_no_text(headrace, tmp_path, options):
    name = os.fsdecode(b"\xff\xfe\x1b[1m.tar")
    try:
        (tmp_path / name).write_bytes(tar_of(pairs(3)))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    for command in ("index", "index", "info", "verify"):
        assert end_of(headrace, command, tmp_path, *options).exit_code == 0
    assert (tmp_path / f"{name}.index").exists()
