import pickle
import threading

import pytest

from headrace.engine.processes.carried_errors import MAX_LINKS, CarriedError, Link, arrived, carry
from headrace.errors import WorkerError


def over(error):
    return arrived(pickle.loads(pickle.dumps(carry(error))), "worker 1")


def caught(error):
    try:
        raise error
    except type(error) as raised:
        return raised


class Stubborn(Exception):  # noqa: N818 - as users name theirs
    def __str__(self):
        raise RuntimeError("no words")

    def __reduce__(self):
        raise RuntimeError("no pickle")


def test_an_error_that_refuses_everything_keeps_its_type():
    error = over(caught(Stubborn("x")))
    assert type(error) is Stubborn
    assert "raised in worker 1" in error.__notes__[-1]


def test_a_class_that_cannot_be_made_at_all_becomes_words():
    class Never(Exception):  # noqa: N818 - the same
        lock = threading.Lock()

    error = over(caught(Never("a text")))
    assert type(error) is WorkerError
    assert "Never: a text" in str(error)


def test_chains_are_carried_up_to_a_bound():
    error = ValueError(0)
    for number in range(1, 3 * MAX_LINKS):
        following = ValueError(number)
        following.__cause__ = error
        error = following
    came, depth = over(error), 0
    while came.__cause__ is not None:
        came, depth = came.__cause__, depth + 1
    assert depth == MAX_LINKS - 1


def test_a_suppressed_context_stays_suppressed():
    try:
        try:
            {}[1]
        except KeyError:
            raise ValueError(2) from None
    except ValueError as error:
        came = over(error)
    assert came.__cause__ is None
    assert came.__context__ is None


@pytest.mark.parametrize("data", [b"rubbish", pickle.dumps("a text")])
def test_what_is_no_error_is_told_as_one(data):
    came = arrived(CarriedError([Link(data, (), False)], "text"), "worker 1")
    assert type(came) is WorkerError
