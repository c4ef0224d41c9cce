from hypothesis import given
from hypothesis import strategies as st

from headrace._base.units import format_bytes, parse_bytes


@given(st.integers(0, 1 << 59))
def test_what_is_told_reads_back_to_one_part_in_twenty(size_bytes):
    back = parse_bytes(format_bytes(size_bytes))
    assert abs(back - size_bytes) <= size_bytes / 20


@given(st.integers(0, 1 << 70))
def test_whole_numbers_read_exactly(size_bytes):
    assert parse_bytes(size_bytes) == parse_bytes(str(size_bytes)) == parse_bytes(f"{size_bytes} B") == size_bytes
