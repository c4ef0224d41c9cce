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
