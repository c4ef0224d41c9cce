import json
import os
import threading

import pytest

from headrace.contracts import Recorder
from headrace.engine import Stats


def test_it_is_a_recorder():
    recorder: Recorder = Stats()
    recorder.count("x")


def test_work_waiting_items_and_bytes_of_a_stage_are_summed():
    stats = Stats()
    stats.add("run", 0.25, items=64, size_bytes=1000)
    stats.add("run", 0.75, items=36, size_bytes=24)
    stats.wait("run", 2.0)
    stage = stats.snapshot().stages["run"]
    assert (stage.items, stage.size_bytes) == (100, 1024)
    assert (stage.busy.num, stage.busy.total_s, stage.busy.max_s) == (2, 1.0, 0.75)
    assert (stage.waiting.num, stage.waiting.total_s) == (1, 2.0)


def test_quantiles_of_a_known_distribution():
    stats = Stats()
    for milliseconds in range(1, 1001):
        stats.add("run", milliseconds / 1000)
    busy = stats.snapshot().stages["run"].busy
    assert busy.p50_s == pytest.approx(0.5, rel=0.05)
    assert busy.p95_s == pytest.approx(0.95, rel=0.05)
    assert busy.p99_s == pytest.approx(0.99, rel=0.05)
    assert busy.max_s == 1.0


@pytest.mark.parametrize("duration_s", [-1e-9, 0.0, 1e-12, 1e-7, 1.0, 1e5, 1e300])
def test_any_duration_finds_a_bucket(duration_s):
    stats = Stats()
    stats.add("run", duration_s)
    busy = stats.snapshot().stages["run"].busy
    assert busy.num == 1
    assert busy.p50_s <= max(duration_s, 0.0)


def test_queues():
    stats = Stats()
    for num in (0, 0, 3, 5):
        stats.fill("ready", num, 8)
    queue = stats.snapshot().queues["ready"]
    assert (queue.num_looks, queue.mean, queue.max, queue.capacity, queue.empty_share) == (4, 2.0, 5, 8, 0.5)


def test_an_epoch_starts_from_nothing_and_the_total_goes_on():
    stats = Stats()
    stats.add("run", 1.0)
    stats.count("skipped", 2)
    stats.fill("ready", 4, 4)
    stats.begin_epoch()
    assert not stats.snapshot().stages
    stats.add("run", 3.0)
    stats.count("skipped")
    epoch, total = stats.snapshot(), stats.snapshot("total")
    assert epoch.stages["run"].busy.total_s == 3.0
    assert epoch.counts == {"skipped": 1}
    assert total.stages["run"].busy.total_s == 4.0
    assert total.stages["run"].busy.max_s == 3.0
    assert total.counts == {"skipped": 3}
    assert total.queues["ready"].num_looks == 1
    assert total.elapsed_s > epoch.elapsed_s >= 0


def test_a_snapshot_does_not_change_afterwards():
    stats = Stats()
    stats.count("skipped")
    before = stats.snapshot()
    stats.count("skipped")
    assert before.counts == {"skipped": 1}


def test_a_snapshot_is_json():
    stats = Stats()
    stats.add("run", 0.1)
    stats.fill("ready", 1, 2)
    stats.count("skipped")
    told = json.loads(json.dumps(stats.snapshot().as_dict()))
    assert told["stages"]["run"]["busy"]["num"] == 1
    assert told["counts"] == {"skipped": 1}


def test_nothing_is_lost_between_threads():
    stats = Stats()

    def record():
        for _ in range(5000):
            stats.add("run", 0.5, items=2)
            stats.count("skipped")

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    snapshot = stats.snapshot()
    assert snapshot.stages["run"].items == 40_000
    assert snapshot.stages["run"].busy.total_s == 10_000
    assert snapshot.counts["skipped"] == 20_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_can_record_although_the_lock_was_held_when_it_was_forked():
    stats = Stats()
    with stats.lock:
        child = os.fork()
        if child == 0:
            stats.count("skipped")
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
