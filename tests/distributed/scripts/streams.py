"""Reads streams on every rank and writes down what each rank was given, and what it was told.

Arguments: a JSON file with a list of cases, a folder for the results.
"""

import datetime as dt
import json
import sys
import warnings
from itertools import islice
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import IterableDataset

import headrace as hr


class Unsized:
    """Can be split."""

    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        return iter(self.samples)

    def shard(self, index, count):
        return type(self)(self.samples[index::count])


class Sized(Unsized):
    """Has a length besides."""

    def __len__(self):
        return len(self.samples)


class Naive(IterableDataset):
    """Gives everything to every rank."""

    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        return iter(self.samples)


KINDS = {"unsized": Unsized, "sized": Sized, "naive": Naive}


def epoch_of(loader, batches, *, is_even):
    """The batches of an epoch; ranks meet in a collective at each step, as in a training loop, where steps are even."""
    found = []
    for batch in batches:
        if is_even:
            dist.all_reduce(torch.ones(1))
        found.append([batch.tolist(), loader.valid.tolist()])
    return found


def run(case):
    """Two epochs, the second one cut by a state that another loader goes on from."""
    kind, num, cut = case.pop("kind"), case.pop("num"), case.pop("cut")

    def loader_of():
        return hr.DataLoader(KINDS[kind](list(range(num))), **case)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loader = loader_of()
        first = epoch_of(loader, loader, is_even=kind == "sized")
        begun = epoch_of(loader, islice(loader, cut), is_even=kind == "sized")
        state, length = loader.state_dict(), len(loader) if kind == "sized" else None
        loader.close()
        other = loader_of()
        other.load_state_dict(state)
        rest = epoch_of(other, other, is_even=kind == "sized")
        other.close()
    words = [str(one.message) for one in told]
    return {"len": length, "first": first, "second": begun + rest, "told": words, "explain": loader.explain()}


def main():
    """Every case, one after another, in one process group."""
    cases, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=40))
    found = {case.pop("name"): run(case) for case in cases}
    (folder / f"rank{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
