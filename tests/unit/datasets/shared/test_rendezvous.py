from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace import SharedDict, SharedList
from headrace._base.private_folder import private_folder
from headrace.datasets.shared.block import BLOCKS, create_block
from headrace.datasets.shared.pack_items import pack_items
from headrace.datasets.shared.rendezvous import NoMeetingError, meet, note_path
from headrace.datasets.shared.share import JOB_VARIABLES, digest, several_ranks_here
from headrace.errors import StorageError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Temporary files of the test, and of the processes that it starts."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    gc.collect()
    return tmp_path


def notes(folder):
    return sorted(path.name for path in folder.rglob("*.note"))


def make():
    return create_block(pack_items(["a", "b"]))


def test_equal_lists_are_one(folder):
    items = [("a", 1), ("b", 2)]
    first, second = SharedList(items, per="node"), SharedList(iter(items), per="node")
    assert first.block is second.block
    assert SharedList(items, per="process").block is not first.block
    assert SharedList([("a", 1), ("b", 3)], per="node").block is not first.block
    assert SharedDict({"a": 1}, per="node").block is SharedDict({"a": 1}, per="node").block
    del first
    assert list(second) == items
    assert len(notes(folder)) == 1
    del second
    assert notes(folder) == []


@pytest.mark.parametrize(
    "one, other",
    [
        ([], [[]]),
        (["ab", "c"], ["a", "bc"]),
        (["a"], [b"a"]),
        ([1], [True]),
        ([(1, 2)], [[1, 2]]),
        ([{"a": 1}], [{"b": 1}]),
        ([1, 2], [1, 2, 2]),
    ],
)
def test_different_lists_have_different_digests(one, other):
    assert digest(pack_items(one)) != digest(pack_items(other))
    assert digest(pack_items(one)) == digest(pack_items(iter(one)))


@pytest.mark.parametrize(
    "environ, several",
    [
        ({}, False),
        ({"LOCAL_WORLD_SIZE": "1"}, False),
        ({"LOCAL_WORLD_SIZE": "2"}, True),
        ({"LOCAL_WORLD_SIZE": "many"}, False),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, True),
        ({"SLURM_NTASKS": "8"}, False),  # a batch script: one process that may start others
        ({"SLURM_STEP_ID": "0", "SLURM_NTASKS": "8", "SLURM_NNODES": "2"}, True),
        ({"SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_NNODES": "2"}, False),
    ],
)
def test_where_a_launcher_has_started_several(environ, several):
    assert several_ranks_here(environ) is several


def test_alone_nothing_is_written(folder, monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    SharedList(["a"])
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    shared = SharedList(["a"])
    assert len(notes(folder)) == 1
    assert list(shared) == ["a"]


MAKER = """
import sys
from headrace.datasets.shared.block import create_block
from headrace.datasets.shared.pack_items import pack_items
from headrace.datasets.shared.rendezvous import meet
block = meet("name", lambda: create_block(pack_items(["theirs"])))
print(block.column.item(0), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def other():
    """Another process that has a block of the name."""
    process = subprocess.Popen([sys.executable, "-c", MAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "theirs\n"
    yield process
    process.kill()
    process.communicate()


def test_the_first_makes_it_the_others_find_it(folder, other):
    block = meet("name", lambda: pytest.fail("there is one"))
    assert block.column.item(0) == "theirs"
    other.communicate("\n")
    assert notes(folder) == []
    assert block.column.item(0) == "theirs"


def test_after_a_kill_the_next_one_makes_it_anew(folder, other):
    other.kill()
    other.wait()
    assert len(notes(folder)) == 1
    block = meet("name", make)
    assert block.column.item(0) == "a"
    del block
    assert notes(folder) == []


def test_notes_that_lead_nowhere_are_removed_with_the_next_block(folder, other):
    other.kill()
    other.wait()
    block = meet("another", make)
    assert notes(folder) == [note_path("another").name]
    assert block.column.item(0) == "a"


def test_a_stopped_maker_keeps_the_others_waiting_but_not_for_ever(folder):
    with note_path("name").open("w") as note:
        note_path("name").chmod(0o600)
        fcntl.flock(note, fcntl.LOCK_EX)
        with pytest.raises(NoMeetingError, match=r'held a lock for 0\.2 s.*per="process"'):
            meet("name", make, wait_s=0.2)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        "7",
        '{"token": "zz", "place": {"path": "x"}}',
        '{"token": "00", "place": {"process": 1, "number": 3}}',
        "\0" * 9,
    ],
)
def test_a_note_that_makes_no_sense_is_written_anew(folder, content):
    note_path("name").write_text(content)
    note_path("name").chmod(0o600)
    block = meet("name", make)
    assert meet("name", lambda: pytest.fail("there is one")) is block


def test_a_planted_note_is_not_read(folder, tmp_path):
    (tmp_path / "theirs").touch()
    note_path("name").symlink_to(tmp_path / "theirs")
    with pytest.raises(NoMeetingError):
        meet("name", make)


def test_where_ranks_cannot_meet_each_has_its_own_list(folder, monkeypatch):
    private_folder().chmod(0o777)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.warns(RuntimeWarning, match="Each rank keeps a list of its own: .*not safe to use") as caught:
        assert list(SharedList(["a"])) == ["a"]
    assert caught[0].filename == __file__
    with pytest.raises(StorageError, match="not safe to use"):
        SharedList(["a"], per="node")


def test_an_error_of_the_maker_is_its_own_and_leaves_nothing(folder):
    def fail():
        raise StorageError("no memory")

    for _ in range(2):
        with pytest.raises(StorageError, match="no memory"):
            meet("name", fail)
    assert meet("name", make).column.item(0) == "a"


def test_many_at_once_make_it_once(folder):
    made, blocks = [], []

    def ask():
        def make_and_count():
            made.append(1)
            return make()

        blocks.append(meet("name", make_and_count))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({block.header.token for block in blocks}) == 1


def test_processes_that_are_forked_while_a_list_is_made_do_not_keep_its_note(folder):
    children = []

    def make_and_fork():
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
        return make()

    block = meet("name", make_and_fork)
    try:
        assert meet("name", make, wait_s=0.0) is block
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def test_a_forked_child_does_not_take_the_note_away(folder):
    block = meet("name", make)
    child = os.fork()
    if child == 0:
        try:
            BLOCKS.clear()
            del block
            gc.collect()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(notes(folder)) == 1
    assert block.column.item(0) == "a"


def test_a_named_list_is_made_by_one_rank(monkeypatch):
    made = []

    def items():
        made.append(1)
        return ["a", "b"]

    def pairs():
        return [("a", 1)]

    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert SharedList.once("train", items).block is not SharedList.once("train", items).block  # alone
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    for variable in JOB_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    assert SharedList.once("train", items).block is not SharedList.once("train", items).block  # of no known job
    monkeypatch.setenv("MASTER_PORT", "29500")
    made.clear()
    first = SharedList.once("train", items)
    assert SharedList.once("train", items).block is first.block
    assert len(made) == 1
    assert list(first) == ["a", "b"]
    assert SharedList.once("val", items).block is not first.block
    assert SharedDict.once("train", pairs) == {"a": 1}
    assert SharedDict.once("train", pairs).block is not first.block
    monkeypatch.setenv("MASTER_PORT", "29501")
    assert SharedList.once("train", items).block is not first.block


def test_an_error_while_a_named_list_is_made_is_that_of_its_maker(monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_PORT", "29500")
    with pytest.raises(FileNotFoundError):
        SharedList.once("train", lambda: [Path("/nowhere").stat()])
    assert list(SharedList.once("train", lambda: "ab")) == ["a", "b"]


def test_where_ranks_cannot_meet_each_makes_the_named_list(folder, monkeypatch):
    private_folder().chmod(0o777)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_PORT", "29500")
    with pytest.warns(RuntimeWarning, match="Each rank keeps a list of its own") as caught:
        assert list(SharedList.once("train", lambda: "ab")) == ["a", "b"]
    assert caught[0].filename == __file__
