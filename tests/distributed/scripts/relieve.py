"""Iterates a loader on every rank in step with the others, with workers that take over on each at another batch.

Arguments: a JSON file with a list of cases, a folder for the results.
"""

import datetime as dt
import json
import os
import sys
from contextlib import closing
from pathlib import Path

import cloudpickle
import pytest
import torch
import torch.distributed as dist

import headrace as hr
from tests.relieved import Moment

EXTRAS = ("index", "valid")

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import the test framework


class Numbers(torch.utils.data.Dataset):
    """Numbers with a draw, and the process that has made them."""

    def __init__(self, num):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return {"draws": float(hr.rng().random()), "process": os.getpid()}


def told(batch):
    """What is the same whoever makes it."""
    return [torch.as_tensor(batch[name]).tolist() for name in ("__index__", "__valid__", "draws")]


def states_of_all(loader):
    """The states of all ranks, who meet here as in a training loop."""
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, json.dumps(loader.state_dict()))
    return states


def run(case, patch):
    """All epochs of a case; then the rest of the second one from the state that each rank gets from the next one."""
    num, borders, num_epochs = (case.pop(name) for name in ("num", "borders", "epochs"))
    rank, num_ranks = dist.get_rank(), dist.get_world_size()
    if borders:
        Moment(patch, num // num_ranks, borders[rank])
    epochs = []
    with closing(hr.DataLoader(Numbers(num), extras=EXTRAS, **case)) as loader:
        for _ in range(num_epochs):
            epochs.append([])
            for batch in loader:
                is_ours = batch["process"][0].item() == os.getpid()
                epochs[-1].append({"told": told(batch), "is_ours": is_ours, "states": states_of_all(loader)})
    state = json.loads(epochs[1][1]["states"][(rank + 1) % num_ranks])
    with closing(hr.DataLoader(Numbers(num), extras=EXTRAS, **case | {"num_workers": 0})) as other:
        other.load_state_dict(state)
        rest = [told(batch) for batch in other]
    return {"epochs": epochs, "rest": rest}


def main():
    """Every case, one after another, in one process group."""
    cases, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=40))
    found = {}
    for case in cases:
        name = case.pop("name")
        with pytest.MonkeyPatch.context() as patch:
            found[name] = run(case, patch)
    (folder / f"rank{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
