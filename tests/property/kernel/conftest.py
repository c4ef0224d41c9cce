from __future__ import annotations

import pytest
import skimage.data
from PIL import Image

from headrace import _native


@pytest.fixture(scope="session")
def photograph():
    """A real photograph, RGB, 512 x 512."""
    return Image.fromarray(skimage.data.astronaut())


@pytest.fixture
def pool():
    pool = _native.Pool(2)
    yield pool
    pool.close()
