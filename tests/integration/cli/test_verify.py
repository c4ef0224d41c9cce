"""`headrace verify` from end to end."""

from __future__ import annotations

import json
import shutil

import pytest


def test_verify_finds_no_fault_in_what_pack_wrote(headrace, packed):
    result = headrace("verify", packed, "--decode", "--strict")
    assert result.exit_code == 0
    assert "3 shards checked, 60 whole samples" in result.stdout
    assert "no faults" in result.stdout


@pytest.mark.parametrize("harm", ["cut", "flip", "image", "gone"])
def test_verify_finds_faults_and_exits_with_1(headrace, packed, tmp_path, harm):
    shutil.copytree(packed, tmp_path / "copy")
    shard = sorted((tmp_path / "copy").glob("*.tar"))[1]
    content = bytearray(shard.read_bytes())
    if harm == "cut":
        shard.write_bytes(content[:-1536])
    elif harm == "flip":
        content[len(content) // 2] ^= 255
        shard.write_bytes(content)
    elif harm == "gone":
        shard.unlink()
    else:
        content[520:2000] = bytes(1480)
        shard.write_bytes(content)
    result = headrace("verify", tmp_path / "copy", "--decode", "--json")
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    assert not facts["is_sound"]
    codes = {finding["code"] for report in facts["shards"] for finding in report["findings"]}
    expected = {"cut": "TruncatedShardError", "flip": "wrong-md5", "image": "wrong-md5"}
    assert expected.get(harm) in codes or facts["missing"] == [str(shard)]
    assert harm != "image" or codes & {"CorruptImageError", "UnsupportedImageError"}
    assert shard.name in headrace("verify", tmp_path / "copy").stdout


def tar_of_one(name: bytes) -> bytes:
    """A tar with the same member twice."""
    header = bytearray(512)
    header[: len(name)] = name
    header[100:108] = b"0000644\0"
    header[124:136] = b"00000000000\0"
    header[148:156] = b" " * 8
    header[156:157] = b"0"
    header[257:265] = b"ustar\x0000"
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) * 2 + bytes(1024)


@pytest.mark.parametrize("name", [b"[/x].txt", b"[red]a.txt", b"a\x1b[2J\x1b]0;owned\x07.txt", b"\xff.txt"])
@pytest.mark.parametrize("command", ["verify", "info", "index"])
def test_names_from_strangers_are_shown_as_they_are_and_obeyed_by_nobody(headrace, tmp_path, name, command):
    (tmp_path / "x.tar").write_bytes(tar_of_one(name))
    result = headrace(command, tmp_path / "x.tar")
    assert result.exit_code == (1 if command == "verify" else 3)
    shown = result.stdout + result.stderr
    assert "\x1b" not in shown
    assert "\x07" not in shown
    key = name.removesuffix(b".txt").decode("utf-8", "surrogateescape")
    assert "offset=512" in shown or "offset=1024" in shown
    assert key.encode("unicode_escape").decode() in shown
