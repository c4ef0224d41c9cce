"""Exceptions of the dataset and of functions that belong to it, wherever they are raised."""

from __future__ import annotations

import traceback

import pytest
from torch.utils.data import default_collate

from tests.contract.loader.datasets import Numbers


class TwoArgumentsError(Exception):
    """Cannot be made again from its message alone."""

    def __init__(self, code, reason):
        super().__init__(f"{code}: {reason}")
        self.code = code


class KeywordOnlyError(Exception):
    """Nor this one."""

    def __init__(self, *, place):
        super().__init__(f"at {place}")


class Failing(Numbers):
    """The fourth sample fails."""

    def __init__(self, make_error):
        super().__init__(6)
        self.make_error = make_error

    def __getitem__(self, index):
        return self.look_up(index)

    def look_up(self, index):
        if index == 3:
            raise self.make_error()
        return index


def told(error):
    """All that an error says where nobody catches it."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "error",
    [
        KeyError("a key\nwith 'odd' {signs}"),
        ValueError("a value"),
        FileNotFoundError(2, "No such file or directory", "a.jpg"),
        NotImplementedError(),
        AssertionError("it is not so"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_keeps_its_type_and_message_and_shows_where_it_was_raised(kit, error):
    iterator = iter(kit.make(Failing(lambda: error), batch_size=2))
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(type(error)) as caught:
        next(iterator)
    assert str(error).split("\n")[0].strip('"') in told(caught.value)
    assert "look_up" in told(caught.value)


@pytest.mark.parametrize(
    "make_error",
    [lambda: TwoArgumentsError(7, "broken"), lambda: KeywordOnlyError(place="the end")],
    ids=["two", "keyword"],
)
def test_an_exception_that_cannot_be_made_from_its_message_is_still_told(kit, make_error):
    error = make_error()
    with pytest.raises(RuntimeError if kit.is_torch and kit.has_processes else type(error)) as caught:
        list(kit.make(Failing(make_error), batch_size=2))
    assert str(error) in told(caught.value)


def test_an_exception_of_collate_fn_is_raised_in_its_place(kit):
    def put_together(samples):
        if 3 in samples:
            raise ArithmeticError("cannot put these together")
        return default_collate(samples)

    iterator = iter(kit.make(Numbers(6), batch_size=2, collate_fn=put_together))
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(ArithmeticError, match="cannot put these together"):
        next(iterator)


def test_a_sample_that_is_not_there_is_an_index_error(kit):
    with pytest.raises(IndexError, match="no sample 9"):
        list(kit.make(Numbers(4), batch_size=2, sampler=[0, 9]))


def test_the_loader_can_be_iterated_anew_after_an_error(kit):
    dataset = Failing(lambda: ValueError("once"))
    loader = kit.make(dataset, batch_size=3, sampler=[0, 1, 2])
    failing = kit.make(dataset, batch_size=3)
    with pytest.raises(ValueError, match="once"):
        list(failing)
    with pytest.raises(ValueError, match="once"):
        list(failing)
    assert [batch.tolist() for batch in loader] == [[0, 1, 2]]
