from __future__ import annotations

import fcntl
import gc
import mmap
import os
import pickle
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headrace import SharedList
from headrace._base.private_folder import private_folder
from headrace.datasets.shared.block import BLOCKS, attach_block, create_block
from headrace.datasets.shared.memory import all_seals, create_memory, memory_works, open_memory
from headrace.datasets.shared.pack_items import pack_items
from headrace.datasets.shared.place import FilePlace, MemoryPlace
from headrace.errors import DiskFullError, StorageError

KINDS = [pytest.param(True, id="file")]
if memory_works():
    KINDS.append(pytest.param(False, id="memory"))
needs_memory = pytest.mark.skipif(not memory_works(), reason="this system has no memory without a name")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Temporary files of the test, and of the processes that it starts."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def files(folder):
    return sorted(path.name for path in folder.rglob("*.block"))


def new_list(items, named):
    block = create_block(pack_items(items), named=named)
    return SharedList.of_rows(block, range(block.header.num_rows))


def run_python(code, data=b""):
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("named", KINDS)
def test_any_process_of_this_user_opens_it(named):
    shared = new_list(["a", "b", "c"], named)
    code = "import pickle, sys; shared = pickle.load(sys.stdin.buffer); print(list(shared), shared.size_bytes)"
    assert run_python(code, pickle.dumps(shared[1:])) == f"['b', 'c'] {shared.size_bytes}\n"


@pytest.mark.parametrize("named", KINDS)
def test_nothing_is_left_when_the_last_list_is_gone(named, folder):
    gc.collect()
    before = psutil.Process().num_fds()
    shared = new_list(["a", "b", "c"], named)
    part, token = shared[1:], shared.block.header.token
    assert len(files(folder)) == named
    del shared
    assert list(part) == ["b", "c"]
    del part
    gc.collect()
    assert token not in BLOCKS
    assert files(folder) == []
    assert psutil.Process().num_fds() == before


@pytest.mark.parametrize("named", KINDS)
def test_a_list_whose_maker_is_gone_says_so(named):
    shared = new_list(["a"], named)
    sent = pickle.dumps(shared)
    del shared
    gc.collect()
    with pytest.raises(StorageError, match=r"in shared memory is gone.*Keep the list"):
        pickle.loads(sent)


@pytest.mark.parametrize("named", KINDS)
def test_another_block_at_the_same_place_is_not_taken_for_it(named):
    shared = new_list(["a"], named)
    with pytest.raises(StorageError, match="another block"):
        attach_block(b"0" * 16, shared.block.place())


@pytest.mark.parametrize("named", KINDS)
def test_it_is_private(named):
    shared = new_list(["a"], named)
    found = os.fstat(shared.block.fd)
    assert found.st_mode & 0o777 == 0o600
    assert found.st_uid == os.geteuid()


@pytest.mark.parametrize("named", KINDS)
def test_no_error_leaves_anything_behind(named, folder, monkeypatch):
    gc.collect()
    before = psutil.Process().num_fds()

    def full(fd, packed, token):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headrace.datasets.shared.block.write_block", full)
    with pytest.raises(DiskFullError, match="shared memory cannot be made"):
        new_list(["a"], named)
    assert files(folder) == []
    assert psutil.Process().num_fds() == before


@needs_memory
def test_memory_is_sealed():
    shared = new_list(["a"], named=False)
    fd = os.open(f"/proc/self/fd/{shared.block.fd}", os.O_RDWR)
    try:
        with pytest.raises(PermissionError):
            os.write(fd, b"b")
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 0)
        with pytest.raises(PermissionError):
            mmap.mmap(fd, 0)
    finally:
        os.close(fd)
    assert all_seals()


@needs_memory
@pytest.mark.parametrize("kind", ["file", "pipe", "foreign memory", "nothing", "no process"])
def test_numbers_that_stand_for_something_else_by_now_are_not_opened(kind, tmp_path):
    """A pipe that is opened would wait for a writer; memory that is not sealed could shrink under a reader."""
    fds = []
    if kind == "file":
        fds = [os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)]
    elif kind == "pipe":
        fds = [*os.pipe()]
    elif kind == "foreign memory":
        fds = [os.memfd_create("headrace-shared")]
    process, number = (1 << 30, 3) if kind == "no process" else (os.getpid(), fds[0] if fds else 9999)
    try:
        with pytest.raises((PermissionError, FileNotFoundError)):
            open_memory(process, number)
        with pytest.raises(StorageError, match=f"process={process}"):
            attach_block(b"0" * 16, MemoryPlace(process, number))
    finally:
        for fd in fds:
            os.close(fd)


@pytest.mark.parametrize("plant", ["link", "pipe", "open to others", "empty"])
def test_files_that_are_not_its_own_are_not_opened(plant, tmp_path):
    path = tmp_path / "planted.block"
    if plant == "link":
        (tmp_path / "target").touch(mode=0o600)
        path.symlink_to(tmp_path / "target")
    elif plant == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.touch(mode=0o600)
        path.chmod(0o644 if plant == "open to others" else 0o600)
    with pytest.raises(StorageError, match=r"planted\.block"):
        attach_block(b"0" * 16, FilePlace(str(path)))


def test_a_folder_that_is_open_to_others_is_not_used(folder):
    private_folder().chmod(0o755)
    with pytest.raises(StorageError, match="not safe to use"):
        new_list(["a"], named=True)


def test_a_folder_that_is_a_link_is_not_used(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / f"headrace-{os.geteuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="not safe to use"):
        new_list(["a"], named=True)


NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def as_nobody(act):
    """Runs a function in a forked child of another user, which then waits for its end; gives the child's number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            act()
            code = 0
        finally:
            os._exit(code)
    return child


@needs_root
@pytest.mark.parametrize("named", KINDS)
def test_another_user_cannot_open_it(named):
    shared = new_list(["a"], named)
    token, place = shared.block.header.token, shared.block.place()

    def attach():
        BLOCKS.clear()
        with pytest.raises(StorageError, match="gone, or out of reach"):
            attach_block(token, place)

    assert os.waitpid(as_nobody(attach), 0)[1] == 0


@needs_root
@needs_memory
def test_memory_of_another_user_is_not_taken():
    """Root may open everything; that does not make it trustworthy."""
    ready, done = os.pipe(), os.pipe()

    def hold():
        os.close(done[1])
        fd = create_memory()
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, all_seals())
        os.write(ready[1], bytes([fd]))
        os.read(done[0], 1)

    child = as_nobody(hold)
    try:
        (number,) = os.read(ready[0], 1)
        with pytest.raises(PermissionError, match="not sealed memory of this user"):
            open_memory(child, number)
    finally:
        for fd in (*ready, *done):
            os.close(fd)
    assert os.waitpid(child, 0)[1] == 0


@needs_root
def test_a_folder_that_somebody_else_has_made_is_not_used(folder):
    planted = folder / f"headrace-{os.geteuid()}"
    planted.mkdir(mode=0o700)
    os.chown(planted, NOBODY, NOBODY)
    with pytest.raises(StorageError, match=f"owner {NOBODY}"):
        new_list(["a"], named=True)


KILLED = """
import os, signal
from headrace.datasets.shared.block import create_block
from headrace.datasets.shared.pack_items import pack_items
block = create_block(pack_items(["a"]), named=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_file_of_a_killed_process_goes_with_the_next_one(folder):
    subprocess.run([sys.executable, "-c", KILLED], timeout=100, check=False)
    (left,) = files(folder)
    shared = new_list(["b"], named=True)
    (now,) = files(folder)
    assert now != left
    assert Path(shared.block.path).name == now


def test_a_file_in_use_is_not_swept_away(folder):
    first = new_list(["a"], named=True)
    run_python("""
from headrace.datasets.shared.block import create_block
from headrace.datasets.shared.pack_items import pack_items
create_block(pack_items(["b"]), named=True)
""")
    assert files(folder) == [Path(first.block.path).name]
