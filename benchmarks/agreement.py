"""What it costs that ranks agree on an epoch. Usage: `python -m benchmarks.agreement`."""

from __future__ import annotations

import argparse
import socket
import time
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.queues import Queue
from typing import Any

import numpy as np
from torch.distributed import HashStore, TCPStore  # type: ignore[attr-defined]

from benchmarks import results
from headrace.loader.agreement import Agreement
from headrace.loader.rendezvous import Record, Rendezvous
from headrace.loader.session import Session
from headrace.order import Topology

WORLD_SIZES = (2, 4, 8)
MANY_RANKS = 1000
FACTS = {
    "fingerprint": "0123456789abcdef0123456789abcdef",
    "num_samples": 1_281_167,
    "num_shards": 147,
    "seed": 0,
    "shuffle": "window",
    "window_samples": 17_000,
    "canonical_nodes": 4,
    "tail": None,
    "global_batch": 2048,
    "batch_size": 256,
    "world_size": 8,
    "samples_delivered": 0,
    "rank_batches": 0,
    "sources": [],
}
"""As a loader of ImageNet compares them."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def open_epochs(rank: int, world_size: int, port: int, num_epochs: int, times: Queue[list[float]]) -> None:
    """One rank; ranks start each opening together, as after the last collective of an epoch."""
    store = TCPStore("127.0.0.1", port, world_size, is_master=rank == 0, timeout=timedelta(seconds=60))
    meeting = Rendezvous(Session(store, "headrace/job", rank, range(world_size)), "loader0")
    agreement = Agreement(lambda _: meeting)
    took = []
    for epoch in range(num_epochs):
        store.add(f"start/{epoch}", 1)
        while store.add(f"start/{epoch}", 0) < world_size:
            time.sleep(0.0002)
        began = time.perf_counter()
        agreement.open(FACTS | {"epoch": epoch}, Topology(rank=rank, world_size=world_size))
        took.append(time.perf_counter() - began)
        agreement.takes()
        agreement.ended()
    times.put(took)
    store.add("done", 1)
    while rank == 0 and store.add("done", 0) < world_size:
        time.sleep(0.01)


def opening_ms(world_size: int, num_epochs: int) -> dict[str, float]:
    """An opening that all ranks come to at the same time, over ranks and epochs."""
    context, port = get_context("spawn"), free_port()
    times: Queue[list[float]] = context.Queue()
    ranks = [
        context.Process(target=open_epochs, args=(rank, world_size, port, num_epochs, times))
        for rank in range(world_size)
    ]
    for rank in ranks:
        rank.start()
    took = np.concatenate([times.get(timeout=120) for _ in ranks]) * 1e3
    for rank in ranks:
        rank.join()
    return {"median_ms": float(np.median(took)), "p95_ms": float(np.percentile(took, 95))}


def many_ranks_ms() -> dict[str, float]:
    """The messages of many ranks one after another: what they ask of the one process that has the store."""
    store = TCPStore("127.0.0.1", free_port(), is_master=True, wait_for_workers=False)
    ranks = range(MANY_RANKS)
    meetings = [Rendezvous(Session(store, "headrace/job", rank, ranks), "loader0") for rank in ranks]
    record = Record(opening=0, left_after=None, facts=FACTS)
    began = time.perf_counter()
    for meeting in meetings:
        meeting.session.enter()
    entered = time.perf_counter()
    for meeting in meetings:
        meeting.meet(record)
    return {"first_ms": (entered - began) * 1e3, "opening_ms": (time.perf_counter() - entered) * 1e3}


def batch_ns(num_batches: int) -> float:
    """What the test costs each batch."""
    meeting = Rendezvous(Session(HashStore(), "headrace/job", 0, range(1)), "loader0")
    agreement = Agreement(lambda _: meeting)
    agreement.open(FACTS, Topology())
    began = time.perf_counter()
    for _ in range(num_batches):
        agreement.takes()
    return (time.perf_counter() - began) / num_batches * 1e9


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer epochs")
    args = parser.parse_args()
    num_epochs = 20 if args.quick else 200
    figures: dict[str, Any] = {f"{world} ranks": opening_ms(world, num_epochs) for world in WORLD_SIZES}
    figures[f"messages of {MANY_RANKS} ranks"] = many_ranks_ms()
    figures["batch_ns"] = batch_ns(1_000_000)
    results.save("agreement", figures, quick=args.quick)


if __name__ == "__main__":
    main()
