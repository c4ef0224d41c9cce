import numpy as np
import pytest
import torch

from headrace.datasets.labels import Labels
from headrace.errors import LabelError

NAMES = ("cat", "hund", "猫", "7")


def test_names_are_numbered_in_their_order():
    labels = Labels(NAMES)
    assert [labels.of(name) for name in NAMES] == [0, 1, 2, 3]
    assert labels.of(3) == 3


def test_numbers_without_classes_stay():
    assert Labels(None).of(-1) == -1
    assert Labels(None).of_text(" 12\n") == 12


def test_a_dict_maps_names_and_numbers():
    assert Labels({"cat": 5, "kitten": 5}).of("kitten") == 5
    assert Labels({1: 0, 90: 79}).of(90) == 79
    assert Labels({1: 0, 90: 79}).of_text("90") == 79


def test_text_that_is_a_name_is_that_class_even_if_it_looks_like_a_number():
    assert Labels(NAMES).of_text(" 7 ") == 3
    assert Labels(NAMES).of_text("2") == 2
    assert Labels(NAMES).of_text("猫\n") == 2


def test_lists_become_tensors():
    found = Labels(NAMES).of(["猫", "cat", 1])
    assert found.dtype is torch.int64
    assert found.tolist() == [2, 0, 1]
    assert Labels(NAMES).of([]).shape == (0,)
    assert Labels(NAMES).of([]).dtype is torch.int64
    assert Labels(None).of(np.array([3, 4], dtype=np.uint8)).tolist() == [3, 4]
    assert Labels(None).of(np.array(3)) == 3
    assert Labels(None).of(torch.tensor(3)) == 3


@pytest.mark.parametrize(
    ("classes", "value", "said"),
    [
        (NAMES, "Cat", "no class has; got 'Cat'; accepted: 0 to 3, or a name: cat, hund"),
        (NAMES, 4, "no class has; got 4"),
        (NAMES, -1, "no class has; got -1"),
        (NAMES, ["cat", "dog"], r"no class has; got 'dog' at \[1\]"),
        (NAMES, True, "neither a name nor a whole number"),
        (NAMES, 1.0, "neither a name nor a whole number"),
        (NAMES, None, "neither a name nor a whole number"),
        (NAMES, {"id": 1}, "neither a name nor a whole number"),
        (NAMES, [[1]], r"neither a name nor a whole number; got \[1\] at \[0\]"),
        ({1: 0}, 2, "no class has; got 2; accepted: 1"),
        ({"a": 0}, 0, "no class has; got 0"),
        (None, "cat", "the field has no classes"),
        (None, "7", "the field has no classes"),
        (None, 2**63, "no class has"),
    ],
)
def test_labels_that_are_none(classes, value, said):
    with pytest.raises(LabelError, match=said):
        Labels(classes).of(value)


@pytest.mark.parametrize("text", ["", "x", "1.0", "1_0", "٣", "9" * 5000, "--1"])
def test_texts_that_are_no_numbers(text):
    with pytest.raises(LabelError):
        Labels(None).of_text(text)


def test_many_classes_are_not_all_shown():
    with pytest.raises(LabelError, match=r"c7, \.\.\.$"):
        Labels(tuple(f"c{number}" for number in range(1000))).of("nothing")


def test_whole_columns_are_looked_at_at_once():
    assert Labels(NAMES).all_fit(np.array([0, 3]))
    assert not Labels(NAMES).all_fit(np.array([0, 4]))
    assert not Labels(NAMES).all_fit(np.array([-1]))
    assert Labels(None).all_fit(np.array([-1]))
    assert not Labels({1: 0}).all_fit(np.array([1]))


def test_digits_are_numbers_unless_a_class_is_called_by_others():
    assert Labels(None).as_numbers
    assert Labels(("a", "b")).as_numbers
    assert Labels(("0", "1")).as_numbers
    assert not Labels(("1", "0")).as_numbers
    assert not Labels(NAMES).as_numbers
    assert not Labels({"a": 0}).as_numbers
