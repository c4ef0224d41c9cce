from __future__ import annotations

import pytest

from tests.encoded_images import encode, photograph


@pytest.fixture(scope="session")
def small_photographs() -> list[bytes]:
    """300 small JPEG photographs of several sizes, no two alike."""
    picture = photograph(400, 400)
    corners = [(x, y) for y in range(0, 340, 17) for x in range(0, 350, 23)][:300]
    boxes = [(x, y, x + 40 + (x + y) % 7, y + 30 + (x * y) % 9) for x, y in corners]
    return [encode(picture.crop(box), "JPEG", quality=90) for box in boxes]
