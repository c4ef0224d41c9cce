"""What torch refuses is refused, with a `ValueError` or `TypeError`; and arguments stand where they stand there."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.utils.data import SequentialSampler

import headrace as hr
from tests.contract.loader.datasets import Numbers

REFUSED = {
    "sampler-shuffle": {"sampler": [1], "shuffle": True},
    "batch-sampler-size": {"batch_sampler": [[1]], "batch_size": 4},
    "batch-sampler-none": {"batch_sampler": [[1]], "batch_size": None},
    "batch-sampler-shuffle": {"batch_sampler": [[1]], "shuffle": True},
    "batch-sampler-sampler": {"batch_sampler": [[1]], "sampler": [1]},
    "batch-sampler-drop-last": {"batch_sampler": [[1]], "drop_last": True},
    "none-drop-last": {"batch_size": None, "drop_last": True},
    "batch-size-0": {"batch_size": 0},
    "batch-size-negative": {"batch_size": -2},
    "batch-size-fraction": {"batch_size": 1.5},
    "batch-size-bool": {"batch_size": True},
    "drop-last-number": {"drop_last": 1},
    "workers-negative": {"num_workers": -1},
    "timeout-negative": {"timeout": -1},
    "prefetch-without-workers": {"num_workers": 0, "prefetch_factor": 2},
    "prefetch-negative": {"num_workers": 1, "prefetch_factor": -1},
    "persistent-without-workers": {"num_workers": 0, "persistent_workers": True},
    "context-without-workers": {"num_workers": 0, "multiprocessing_context": "spawn"},
    "context-unknown": {"num_workers": 1, "multiprocessing_context": "teleport"},
}
LOADERS = {"torch": torch.utils.data.DataLoader, "headrace": hr.DataLoader}


@pytest.mark.parametrize("make", LOADERS.values(), ids=LOADERS)
@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_what_torch_refuses_is_refused_when_the_loader_is_made(make, arguments):
    with pytest.raises(ValueError, match=r"."):
        make(Numbers(4), **arguments)


@pytest.mark.parametrize("make", LOADERS.values(), ids=LOADERS)
def test_a_context_of_another_type_is_a_type_error(make):
    with pytest.raises(TypeError, match="multiprocessing_context"):
        make(Numbers(4), num_workers=1, multiprocessing_context=3)


ACCEPTED = {
    "shuffle-number": {"shuffle": 1},
    "shuffle-false-sampler": {"sampler": [1], "shuffle": False},
    "batch-sampler-shuffle-false": {"batch_sampler": [[1]], "shuffle": False},
    "in-order-false": {"in_order": False, "num_workers": 1},
    "pin-memory-device": {"pin_memory_device": ""},
    "timeout-fraction": {"timeout": 0.5, "num_workers": 1},
    "no-generator": {"generator": None},
}


@pytest.mark.parametrize("make", LOADERS.values(), ids=LOADERS)
@pytest.mark.parametrize("arguments", ACCEPTED.values(), ids=ACCEPTED)
def test_what_torch_accepts_is_accepted(make, arguments):
    assert len(make(Numbers(4), **arguments)) in (1, 4)


def test_arguments_have_the_names_and_places_that_they_have_in_torch():
    theirs, ours = (inspect.signature(make.__init__).parameters.values() for make in LOADERS.values())
    places = [parameter.name for parameter in theirs if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert [parameter.name for parameter in ours if parameter.kind is parameter.POSITIONAL_OR_KEYWORD] == places
    by_name = {parameter.name: parameter.default for parameter in ours}
    assert {parameter.name for parameter in theirs} <= set(by_name)
    defaults = {parameter.name: parameter.default for parameter in theirs if parameter.name != "num_workers"}
    assert {name: by_name[name] for name in defaults} == defaults


def test_a_call_by_position_means_the_same(kit):
    dataset, workers = Numbers(5), kit.arguments["num_workers"]
    mine = {} if kit.is_torch or not kit.has_workers else {"engine": kit.arguments["engine"]}
    call = (dataset, 2, False, SequentialSampler(dataset), None, workers, list, False, True, 0, None, None, None)
    loader = kit.make_loader(*call, **mine)
    kit.made.append(loader)
    assert list(loader) == [[0, 1], [2, 3]]
