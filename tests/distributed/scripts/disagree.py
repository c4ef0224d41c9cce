"""Four ranks that fall out in one way after another, each in the middle of a job that goes on afterwards.

Arguments: two folders of shards, a folder for the results. Every rank writes, for each case, what it raised and how
long that took.
"""

import datetime as dt
import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import headrace as hr
from headrace.errors import RankMismatchError

SAMPLES = list(range(40))


def train(loader, num_epochs=1):
    """A training loop: ranks wait for each other at every step. Returns the ids this rank was given."""
    seen = []
    for _ in range(num_epochs):
        for batch in loader:
            together = torch.ones(1)
            dist.all_reduce(together)
            seen += batch.tolist()
    return seen


def make_loader(dataset=SAMPLES, **options):
    return hr.DataLoader(dataset, **({"batch_size": 2, "shuffle": True, "num_workers": 1} | options))


def other_seed(rank, shards):
    train(make_loader(seed=5 if rank == 2 else 0))


def other_shards(rank, shards):
    dataset = hr.ShardDataset(shards[1 if rank == 3 else 0], fields="cls")
    train(make_loader(dataset))


def other_length(rank, shards):
    train(make_loader(SAMPLES[: 40 - rank // 3]))


def other_batch_size(rank, shards):
    train(make_loader(batch_size=4 if rank == 1 else 2))


def stray_batch(rank, shards):
    loader = make_loader()
    if rank == 1:
        next(iter(loader))
    train(loader)


def stray_batches(rank, shards):
    loader = make_loader()
    train(loader)
    if rank == 0:
        for number, _ in enumerate(loader):
            if number == 2:
                break
    train(loader)


def other_state(rank, shards):
    loader = make_loader()
    if rank == 0:
        one = make_loader(topology=hr.Topology(world_size=4))  # as rank 0, without the others
        next(iter(one))
        one.close()
        loader.load_state_dict(one.state_dict())
    train(loader)


def mesh_of_disagreeing_pairs(rank, shards):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    train(make_loader(seed=rank % 2, topology=mesh))


def alone(rank, shards):
    """No disagreement: one rank looks at everything by itself while the others train on."""
    loader, whole = make_loader(), make_loader(topology=hr.Topology())
    if rank == 0:
        assert sorted(one for batch in whole for one in batch.tolist()) == SAMPLES
    return sorted(train(loader))


def two_loaders(rank, shards):
    """No disagreement: training and evaluation take turns, and each rank opens them at its own pace."""
    training, evaluation = make_loader(), make_loader(shuffle=False)
    for _ in range(3):
        if rank == 0:
            time.sleep(0.2)
        train(training)
        train(evaluation)
    return training.stats("epoch").as_dict()["stages"]["agree"]["waiting"]["total_s"]


def tensor_parallel(rank, shards):
    """No disagreement: pairs of ranks get equal batches; each data-parallel group is a job of its own."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    whole, part = make_loader(topology=mesh), make_loader(topology=mesh["dp"], seed=rank % 2)
    group = make_loader(topology=mesh["dp"].get_group())
    return {"whole": train(whole), "part": train(part), "group": train(group)}


CASES = [
    other_seed,
    other_shards,
    other_length,
    other_batch_size,
    stray_batch,
    stray_batches,
    other_state,
    mesh_of_disagreeing_pairs,
    alone,
    two_loaders,
    tensor_parallel,
]


def main():
    """Every case in turn."""
    shards, folder = sys.argv[1:3], Path(sys.argv[3])
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=60))
    rank, found = dist.get_rank(), {}
    for case in CASES:
        dist.barrier()
        start, raised, result = time.monotonic(), None, None
        try:
            result = case(rank, shards)
        except RankMismatchError as error:
            raised = str(error)
        found[case.__name__] = {"raised": raised, "result": result, "after_s": time.monotonic() - start}
    (folder / f"rank{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
