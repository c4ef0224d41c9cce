from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.utils.data._utils.collate import default_collate, default_collate_fn_map

from headrace.datasets.collate_rules import STACK, Rules, parse_rules
from headrace.datasets.collate_samples import MOST_PARTS, collate_field, collate_samples, parts_of
from headrace.datasets.padding import Pad
from headrace.errors import CollateError, OptionError


def texts(*lengths):
    return [{"ids": torch.arange(length), "label": length} for length in lengths]


def collated(samples, collate=None, allocate=np.empty):
    return collate_samples(samples, parse_rules(collate), allocate)


def test_pad_fills_up_to_the_longest():
    batch = collated(texts(1, 3), {"ids": "pad"})
    assert batch["ids"].tolist() == [[0, 0, 0], [0, 1, 2]]
    assert batch["label"].tolist() == [1, 3]


def test_pad_cuts_rounds_up_and_tells_lengths():
    rule = Pad(value=-1, multiple_of=4, max_length=6, lengths=True)
    padded, lengths = collated(texts(2, 9), {"ids": rule})["ids"]
    assert padded.tolist() == [[0, 1] + [-1] * 6, [0, 1, 2, 3, 4, 5, -1, -1]]
    assert lengths.tolist() == [2, 6]


def test_pad_grows_every_dimension():
    images = [torch.ones(3, 2, 5), torch.ones(3, 4, 1)]
    batch = collated(images, "pad")
    assert batch.shape == (2, 3, 4, 5)
    assert batch.sum() == 3 * (10 + 4)


def test_pad_takes_arrays_and_lists_and_keeps_dtypes_that_numpy_lacks():
    assert collated([np.array([1, 2], dtype="i2"), np.array([3], dtype="i2")], "pad").dtype is torch.int16
    assert collated([[1, 2], [3]], "pad").tolist() == [[1, 2], [3, 0]]
    assert collated([torch.ones(2, dtype=torch.bfloat16), torch.ones(1, dtype=torch.bfloat16)], "pad").sum() == 3


def test_pad_of_a_batch_of_nothing_but_empty_rows():
    assert collated([torch.ones(0), torch.ones(0)], "pad").shape == (2, 0)


@pytest.mark.parametrize(
    "values", [[torch.ones(2), torch.ones(2, 2)], [torch.ones(1), torch.ones(1).int()], [1, 2], ["a", "b"]]
)
def test_what_cannot_be_padded_is_named(values):
    with pytest.raises(CollateError, match=r"padded.*field=ids|field=ids.*padded"):
        collated([{"ids": value} for value in values], {"ids": "pad"})


@pytest.mark.parametrize("options", [{"multiple_of": 0}, {"max_length": 0}, {"max_length": True}, {"multiple_of": 1.5}])
def test_numbers_that_pad_does_not_take(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Pad(**options)


def test_lists_and_functions_by_place():
    samples = [(torch.ones(row), f"text {row}", row) for row in range(3)]
    batch = collated(samples, {0: "list", 1: lambda rows: [len(text) for text in rows]})
    assert [len(one) for one in batch[0]] == [0, 1, 2]
    assert batch[1] == [6, 6, 6]
    assert batch[2].tolist() == [0, 1, 2]


def test_a_rule_for_whole_samples():
    assert collated(["a", "bb"], len) == 2
    assert collated([1, "b"], "list") == [1, "b"]


def test_what_a_function_raises_says_of_which_field():
    def tokenize(texts):
        raise KeyError("no such token")

    with pytest.raises(KeyError) as caught:
        collated([{"text": "a"}], {"text": tokenize})
    assert "field 'text'" in caught.value.__notes__[0]


def test_a_rule_for_a_field_that_is_not_there():
    with pytest.raises(CollateError, match=r"'mask'.*accepted: 'ids', 'label'"):
        collated(texts(1), {"mask": "pad"})


@pytest.mark.parametrize("rule", ["padding", 3, {"a": "stacked"}, {"a": None}, Pad])
def test_what_is_no_rule(rule):
    with pytest.raises(OptionError, match="no such rule"):
        parse_rules(rule)


def test_dataclasses_stay_dataclasses():
    @dataclass(frozen=True)
    class Sample:
        image: torch.Tensor
        name: str

    batch = collated([Sample(torch.ones(2), "a"), Sample(torch.zeros(2), "b")])
    assert isinstance(batch, Sample)
    assert batch.image.shape == (2, 2)
    assert batch.name == ["a", "b"]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([{"a": {"b": torch.ones(1)}}, {"a": {"b": torch.ones(2)}}], r"field=a\.b.*Tensor\(1,\).*Tensor\(2,\)"),
        ([{"a": 1}, {"b": 1}], "dict of 1"),
        ([(1, 2), (1,)], "tuple of 2, tuple of 1"),
        ([object(), object()], "object"),
        ([1, None], "int, NoneType"),
        ([{"a": 1}, 3], "dict of 1, int"),
        ([torch.eye(2).to_sparse()] * 2, r"sparse_coo Tensor\(2, 2\)"),
    ],
)
def test_samples_that_do_not_fit_together_are_told_apart(samples, message):
    with pytest.raises(CollateError, match=message):
        collated(samples)


def test_large_rows_lie_in_leased_memory():
    leased = []

    def allocate(shape, dtype):
        leased.append(np.empty(shape, dtype))
        return leased[-1]

    tensors = collated([torch.ones(40_000), torch.zeros(40_000)], None, allocate)
    arrays = collated([np.ones(40_000), np.zeros(40_000)], None, allocate)
    padded = collated([torch.ones(40_000), torch.zeros(4)], "pad", allocate)
    assert [one.data_ptr() for one in (tensors, arrays, padded)] == [one.ctypes.data for one in leased]


def test_rules_that_name_nothing_stack_everything():
    assert collate_samples([1, 2], Rules(), np.empty).tolist() == [1, 2]


def test_types_that_the_user_has_registered_with_torch(monkeypatch):
    @dataclass
    class Sample:
        number: int

    def add_up(samples, *, collate_fn_map=None):
        return sum(sample.number for sample in samples)

    monkeypatch.setitem(default_collate_fn_map, Sample, add_up)
    assert collated([{"a": Sample(1)}, {"a": Sample(2)}]) == {"a": 3}


@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("width", [0, 3, 200])
def test_small_arrays_are_stacked_wherever_they_lie(width, step):
    """Those in one piece are joined as bytes; large batches of them are written into leased memory."""
    table = np.arange(100 * 2 * width, dtype=np.int64).reshape(100, 2 * width)
    rows = [row[::step] for row in table]
    batch = collated(rows)
    assert torch.equal(batch, default_collate([row.copy() for row in rows]))
    batch += 1
    assert (table == np.arange(table.size).reshape(table.shape)).all(), "the batch is memory of its own"


@pytest.mark.parametrize("numbers", [[2**63 + 1, 5], [5, 2**64], [2**63, 2**63]])
def test_integers_that_no_type_holds_are_refused_as_in_torch_and_never_become_floats(numbers):
    with pytest.raises(ValueError, match="Overflow"):
        default_collate(numbers)
    with pytest.raises(CollateError, match="int"):
        collated([{"id": number} for number in numbers])
    assert collated([-(2**63), 2**63 - 1]).tolist() == [-(2**63), 2**63 - 1]


def nested(width, depth, leaf):
    return leaf if depth == 0 else [nested(width, depth - 1, leaf) for _ in range(width)]


@pytest.mark.parametrize(
    "value",
    [[0.5] * (MOST_PARTS + 1), nested(257, 2, 1), nested(41, 3, "x"), nested(257, 2, []), {"a": {"b": [1] * 70_000}}],
    ids=["flat", "nested", "texts", "empty lists", "dicts"],
)
def test_a_strangers_value_of_too_many_parts_is_refused_and_the_way_around_it_named(value):
    with pytest.raises(
        CollateError, match=r"too many parts.*field=notes.*at most 65536.*collate=\{'notes': \"list\"\}"
    ):
        collate_field([value, value], STACK, ("notes",), np.empty, one_kind=True)
    assert collate_field([value, value], "list", ("notes",), np.empty, one_kind=True) == [value, value]


def test_as_many_parts_as_may_be_become_what_torch_makes_of_them():
    value = nested(256, 2, 7)
    batch = collate_field([value, value], STACK, ("notes",), np.empty, one_kind=True)
    assert torch.equal(batch[255][255], default_collate([7, 7]))
    assert parts_of(value, MOST_PARTS) == MOST_PARTS


def test_values_of_a_users_own_dataset_have_as_many_parts_as_he_likes():
    value = [1] * (MOST_PARTS + 1)
    assert len(collate_field([value, value], STACK, ("notes",), np.empty)) == MOST_PARTS + 1
