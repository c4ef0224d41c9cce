"""Iterates loaders on every rank in step with the others and writes down what each rank was given.

Arguments: a JSON file with a list of cases, a folder for the results.
"""

import datetime as dt
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import headrace as hr


class Numbers(torch.utils.data.Dataset):
    """A dataset that only Python knows."""

    def __init__(self, num):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return index


def run(case):
    """All epochs of a case; ranks meet in a collective at each step, as in a training loop."""
    shards = case.pop("shards", None)
    dataset = hr.ShardDataset(shards, fields="cls") if shards else Numbers(case.pop("num"))
    num_epochs = case.pop("epochs")
    loader = hr.DataLoader(dataset, extras=("index", "valid"), num_workers=1, **case)
    epochs = []
    for _ in range(num_epochs):
        steps = []
        for _, index, valid in loader:
            together = torch.ones(1)
            dist.all_reduce(together)
            steps.append([index.tolist(), torch.as_tensor(valid).tolist()])
        epochs.append({"len": len(loader), "steps": steps})
    return epochs


def main():
    """Every case, one after another, in one process group."""
    cases, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=40))
    found = {case.pop("name"): run(case) for case in cases}
    (folder / f"rank{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
