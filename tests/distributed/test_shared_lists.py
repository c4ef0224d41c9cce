"""Ranks of a node that make the same list have one copy of it."""

from __future__ import annotations

import json

from tests.distributed.torchrun import run_on_ranks


def test_equal_lists_are_one_and_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    facts, held = tmp_path / "facts", tmp_path / "held"
    facts.mkdir()
    held.mkdir()
    run_on_ranks("share.py", 3, facts, held)
    ranks = [json.loads(path.read_text()) for path in sorted(facts.iterdir())]
    assert [rank["own"] for rank in ranks] == ["of rank 0", "of rank 1", "of rank 2"]
    assert {(rank["last"], rank["label"]) for rank in ranks} == {("/data/009999.jpg", 7)}
    assert len({rank["named"] for rank in ranks}) == 1
    for place, num_blocks in enumerate([1, 1, 1, 3]):
        assert len({rank["tokens"][place] for rank in ranks}) == num_blocks
    assert list(tmp_path.rglob("*.note")) == []
