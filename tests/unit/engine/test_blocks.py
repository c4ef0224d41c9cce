import pytest

from headrace.engine.blocks import SMALLEST_CLASS_BYTES, Block, size_class


@pytest.mark.parametrize(
    ("size_bytes", "class_bytes"),
    [(1, 4096), (4096, 4096), (4097, 4608), (8192, 8192), (8193, 9216), (9216, 9216), (9217, 10240)],
)
def test_size_classes(size_bytes, class_bytes):
    assert size_class(size_bytes) == class_bytes


def test_classes_hold_their_sizes_and_waste_little():
    for size_bytes in [*range(SMALLEST_CLASS_BYTES, 20_000, 7), *(1 << n for n in range(13, 40)), 10**9 + 1]:
        class_bytes = size_class(size_bytes)
        assert size_bytes <= class_bytes <= size_bytes * 9 / 8 + 1
        assert size_class(class_bytes) == class_bytes


@pytest.mark.parametrize("class_bytes", [4096, 1 << 18, 1 << 24])
def test_blocks_are_aligned(class_bytes):
    assert Block(class_bytes).address % 64 == 0
