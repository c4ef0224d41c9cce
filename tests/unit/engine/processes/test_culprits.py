from dataclasses import dataclass

import pytest

from headrace.engine.processes.culprits import culprit_of


def rows():
    yield 1


class Plain:
    def __init__(self, **parts):
        vars(self).update(parts)


@dataclass(frozen=True, slots=True)
class Slotted:
    number: int
    inner: object


@pytest.mark.parametrize(
    ("work", "place"),
    [
        (Plain(a=1, rows=rows()), ".rows"),
        (Slotted(1, Plain(files=[1, 2, rows()])), ".inner.files[2]"),
        ({"first": Plain(), "second": Plain(of={"key": rows()})}, "['second'].of['key']"),
        (rows(), ""),
        (Plain(fine=1), ""),
    ],
)
def test_the_place_of_what_cannot_be_pickled(work, place):
    assert culprit_of(work) == place
