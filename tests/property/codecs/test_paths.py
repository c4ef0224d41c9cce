"""Any path into any JSON value: what it finds is what a plain walk finds, and it never fails in another way."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.codecs.paths import EACH, parse_path, written
from headrace.errors import DecodeError, MissingFieldError

NAMES = st.text(
    st.characters(exclude_characters='"', exclude_categories=["Cs"]), min_size=1, max_size=3
) | st.sampled_from(["a", "b"])
STEPS = st.lists(NAMES | st.integers(-3, 3) | st.just(EACH), min_size=1, max_size=5)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)


def walk(value, steps):
    """The reference: None where a step cannot be taken, otherwise the value in a tuple."""
    if not steps:
        return (value,)
    first, rest = steps[0], steps[1:]
    if first is EACH:
        found = [walk(element, rest) for element in value] if isinstance(value, list) else [None]
        return None if None in found else ([one for (one,) in found],)
    wanted = dict if isinstance(first, str) else list
    if not isinstance(value, wanted):
        return None
    try:
        return walk(value[first], rest)
    except (KeyError, IndexError):
        return None


def text_of(steps):
    return "".join(map(written, steps)).removeprefix(".")


@given(STEPS)
def test_steps_survive_being_written(steps):
    assert list(parse_path(text_of(steps)).steps) == steps


@given(DOCUMENTS, STEPS)
def test_a_path_finds_what_a_plain_walk_finds(document, steps):
    expected = walk(document, steps)
    try:
        found = (parse_path(text_of(steps)).of(document),)
    except (MissingFieldError, DecodeError):
        found = None
    assert found == expected
