"""Every test of the contract that asks for a `kit` runs on torch's own loader and on ours, engine by engine."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.contract.loader.kits import Kit, kits

KITS = {kit.name: kit for kit in kits()}


@pytest.fixture(params=list(KITS))
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """Any loader."""
    yield from using(request)


@pytest.fixture(params=[name for name, kit in KITS.items() if kit.has_workers])
def worker_kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A loader with workers."""
    yield from using(request)


@pytest.fixture(params=[name for name, kit in KITS.items() if kit.has_processes])
def process_kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A loader with worker processes."""
    yield from using(request)


@pytest.fixture(params=[name for name, kit in KITS.items() if not kit.is_torch])
def our_kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A loader of ours, where it differs from torch's."""
    yield from using(request)


def using(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """The kit, whose loaders end with the test."""
    kit = KITS[request.param]
    yield kit
    kit.close()
    if kit.is_torch:
        gc.collect()  # torch's workers end when their iterator is collected
