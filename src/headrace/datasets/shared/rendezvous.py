"""One block for all ranks of a node: the first to come makes it, the others find it.

For each block there is a small file in a private folder of this user, which says where the block is. Whoever looks
for the block locks the file; who finds no block there makes one and writes its place down before he lets go. The file
holds no data: when its writer is killed, the block's memory goes as always, and the note, which leads nowhere, is
removed by the next process that makes a block for its node.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace._base.locks import acquire
from headrace._base.private_folder import node_name, open_own, private_folder
from headrace.datasets.shared.block import Block, attach_block
from headrace.datasets.shared.place import FilePlace, MemoryPlace, Place
from headrace.errors import StorageError

SUFFIX = ".note"
MOST_BYTES = 4096
WAIT_S = 600.0
"""How long a rank waits for another one to make a block."""


def meet(name: str, make: Callable[[], Block], *, wait_s: float = WAIT_S) -> Block:
    """The block of this name, made by the first process of the node that asks for it.

    Args:
        name: Letters and digits.
        make: Makes the block.
        wait_s: How long to wait while another process makes it.

    Raises:
        NoMeetingError: The folder is not safe to use, or the wait was too long; nothing has been made.
    """
    with locked_note(note_path(name), wait_s) as note:
        block = note.attach()
        if block is None:
            sweep_notes(note.path.parent)
            block = make()
            with contextlib.suppress(OSError):  # no space even for a note: then nobody finds this block
                note.write(block)
            weakref.finalize(block, withdraw, note.path, block.header.token, os.getpid())
    return block


class NoMeetingError(StorageError):
    """Ranks of this node cannot find each other."""


def note_path(name: str) -> Path:
    """Where the note of a block lies. Raises `NoMeetingError`."""
    try:
        return private_folder() / f"{node_name()}-{name}{SUFFIX}"
    except StorageError as error:
        raise NoMeetingError(
            error.what, got=error.got, accepted=error.accepted, remedy=error.remedy, **error.where
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A file that says where a block is, locked."""

    path: Path
    fd: int

    def read(self) -> tuple[bytes, Place] | None:
        """Token and place of a block; None where it says nothing, or only half of it because its writer was killed."""
        try:
            facts = json.loads(os.pread(self.fd, MOST_BYTES, 0))
            place = facts["place"]
            return bytes.fromhex(facts["token"]), FilePlace(**place) if "path" in place else MemoryPlace(**place)
        except (ValueError, LookupError, TypeError):
            return None

    def write(self, block: Block) -> None:
        """Says where a block is."""
        text = json.dumps({"token": block.header.token.hex(), "place": asdict(block.place())})
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, text.encode(), 0)

    def attach(self) -> Block | None:
        """The block it leads to, None where there is none any more."""
        found = self.read()
        if found is not None:
            with contextlib.suppress(StorageError):
                return attach_block(*found)
        return None

    def remove(self) -> None:
        """Takes it away; those who have it open will see that it has no name, and make it anew."""
        self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked_note(path: Path, wait_s: float) -> Iterator[Note]:
    """Opens (or makes) and locks a note. Raises `NoMeetingError`."""
    try:
        fd = lock_note(path, wait_s)
    except OSError as error:
        raise NoMeetingError(
            "ranks of this node cannot share a list",
            got=str(error),
            remedy='per="process" gives each rank a list of its own',
            retryable=isinstance(error, StorageError) and error.retryable,
            path=str(path),
        ) from error
    try:
        yield Note(path=path, fd=fd)
    finally:
        let_go(fd)


def let_go(fd: int) -> None:
    """Frees a lock, also where processes that were forked meanwhile have the file open too."""
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def lock_note(path: Path, wait_s: float) -> int:
    """A locked descriptor of what the path leads to at the end of the wait."""
    while True:
        fd = open_own(path, os.O_RDWR | os.O_CREAT)
        try:
            acquire(fd, path, wait_s)
        except OSError:
            os.close(fd)
            raise
        if same_file(fd, path):
            return fd
        os.close(fd)


def same_file(fd: int, path: Path) -> bool:
    """Whether what is open is still what the path leads to: its last holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def sweep_notes(folder: Path) -> None:
    """Removes the notes of this node that lead nowhere and that nobody has in hand."""
    for path in folder.glob(f"{node_name()}-*{SUFFIX}"):
        with free_note(path) as note:
            if note is not None and note.attach() is None:
                note.remove()


def withdraw(path: Path, token: bytes, process: int) -> None:
    """Removes the note of a block that its maker no longer has; somebody who has the note in hand deals with it."""
    if os.getpid() != process:
        return
    with free_note(path) as note:
        found = note.read() if note is not None else None
        if note is not None and found is not None and found[0] == token:
            note.remove()


@contextlib.contextmanager
def free_note(path: Path) -> Iterator[Note | None]:
    """A note, locked; None where it is gone or somebody else holds its lock."""
    try:
        fd = open_own(path, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
        else:
            yield Note(path=path, fd=fd) if same_file(fd, path) else None
    finally:
        let_go(fd)
