import threading
from dataclasses import dataclass

import pytest

from headrace.engine.processes.culprits import culprit_of


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
        (Plain(a=1, lock=threading.Lock()), ".lock"),
        (Slotted(1, Plain(files=[1, 2, (row for row in "ab")])), ".inner.files[2]"),
        ({"first": Plain(), "second": Plain(of={"key": threading.Lock()})}, "['second'].of['key']"),
        (threading.Lock(), ""),
        (Plain(fine=1), ""),
    ],
)
def test_the_place_of_what_cannot_be_pickled(work, place):
    assert culprit_of(work) == place
