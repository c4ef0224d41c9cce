"""Numbers of a whole batch in one native call are those of the codec, and whatever is strange is left to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.codecs import decode_integers
from headrace.codecs.integers import decode_integer
from headrace.contracts import ByteColumn, InMemory

PLAIN = st.builds(
    lambda before, sign, number, after: f"{before}{sign}{number}{after}".encode(),
    st.sampled_from(["", " ", "\t\n"]),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**18 - 1),
    st.sampled_from(["", "\n", "\r\n", " \x0b\x0c"]),
)


def column_of(texts, absent=()):
    kept = [np.frombuffer(text or b" ", dtype=np.uint8) for text in texts]
    return ByteColumn(
        place=InMemory(addresses=np.array([one.ctypes.data for one in kept], dtype=np.uint64), owner=kept),
        sizes=np.array([len(text) for text in texts], dtype=np.uint64),
        absent=np.array(absent, dtype=np.int64),
    )


@given(st.lists(PLAIN, max_size=20))
def test_plain_numbers_are_those_of_the_codec(texts):
    numbers = decode_integers(column_of(texts))
    assert numbers is not None
    assert numbers.tolist() == [decode_integer("cls", text) for text in texts]


@given(st.binary(max_size=24))
def test_what_is_taken_is_what_the_codec_takes(text):
    numbers = decode_integers(column_of([text]))
    if numbers is not None:
        assert numbers.tolist() == [decode_integer("cls", text)]


@pytest.mark.parametrize("text", [b"", b" ", b"-", b"1_000", b"9" * 19, b"3.0", b"+-3", b"1 2", "\u0663".encode()])
def test_strange_texts_are_left_to_the_codec(text):
    assert decode_integers(column_of([b"1", text])) is None


def test_an_absent_row_is_left_to_the_codec():
    assert decode_integers(column_of([b"1", b"2"], absent=[1])) is None
