"""Trains a small model on photographs and saves checkpoints; a rank may be killed at a step, as if its node had died.

Arguments: shards, a folder for the records, a checkpoint, rows a batch on each rank, steps between checkpoints, the
steps at whose middle the last rank dies in its first, second, ... life (-1: never).
"""

import datetime as dt
import json
import os
import signal
import sys
import zlib
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchvision.transforms import v2

import headrace as hr

SIDE = 16
NUM_EPOCHS = 3


def make_loader(shards, batch_size, **options):
    """Random crops and flips, windows of shards, so that order and augmentation are both at stake."""
    transform = v2.Compose(
        [v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    )
    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform=transform)
    window = {"shuffle": True, "window_samples": 12, "canonical_nodes": 2}
    return hr.DataLoader(
        dataset, batch_size, seed=3, tail="pad", num_workers=2, extras=("index", "valid"), **window, **options
    )


def rows_of(images, index, valid):
    """What tells a row from any other: its id, whether it counts, and a checksum of its pixels."""
    sums = [zlib.crc32(image.numpy().tobytes()) for image in images.contiguous()]
    return [list(row) for row in zip(index.tolist(), torch.as_tensor(valid).tolist(), sums, strict=True)]


def save(path, step, model, loader):
    """The checkpoint appears when it is whole."""
    partial = path.with_suffix(".partial")
    torch.save({"step": step, "model": model.module.state_dict(), "loader": loader.state_dict()}, partial)
    partial.rename(path)


def train(loader, model, record, checkpoint, step, every, dies_at):
    """The loop; a step is counted when the optimiser has made it."""
    rank, optimiser = dist.get_rank(), torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(loader.epoch, NUM_EPOCHS):
        for images, labels, index, valid in loader:
            rows = rows_of(images, index, valid)
            record.write(json.dumps({"step": step, "epoch": loader.epoch, "rows": rows}) + "\n")
            record.flush()
            loss = nn.functional.cross_entropy(model(images), labels)
            if step == dies_at and rank == dist.get_world_size() - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
            if step % every == 0 and rank == 0:
                save(checkpoint, step, model, loader)


def main():
    """Goes on from the checkpoint where there is one."""
    shards, folder, checkpoint = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    batch_size, every, *deaths = map(int, sys.argv[4:])
    life = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=60))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 10)))
    loader, step = make_loader(shards, batch_size), 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.module.load_state_dict(state["model"])
        loader.load_state_dict(state["loader"])
        step = state["step"]
    with (folder / f"life{life}-rank{dist.get_rank()}.jsonl").open("w") as record:
        train(loader, model, record, checkpoint, step, every, deaths[life])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
