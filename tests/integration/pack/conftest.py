"""Sources to pack, and the shards that come out of them as plain data."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 files of 0 to 6 KB in three classes."""
    root = tmp_path_factory.mktemp("pack") / "tree"
    for number in range(300):
        path = root / f"class{number % 3}" / f"{number:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes((number * 7 + place) % 251 for place in range(number * 20)))
    return root


def read_members(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                content = tar.extractfile(member)
                assert content is not None
                assert member.name not in found
                found[member.name] = content.read()
    return found


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_tar(path: Path, content: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in content:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


@pytest.fixture
def members() -> Callable[[Path], dict[str, bytes]]:
    """Gives name -> bytes of all members of all shards of a folder, read by tarfile."""
    return read_members


@pytest.fixture
def snapshot() -> Callable[[Path], dict[str, bytes]]:
    """Gives every file of a folder, hidden ones too."""
    return read_files


@pytest.fixture
def tar_of() -> Callable[[Path, list[tuple[str, bytes]]], None]:
    """Writes a tar by tarfile."""
    return write_tar
