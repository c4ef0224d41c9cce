import gc
import threading
import time
import weakref

import pytest

from headrace.engine.thread_group import GroupThread, ThreadGroup
from headrace.errors import WorkerError

PATIENCE_S = 10.0


@pytest.fixture
def group():
    group = ThreadGroup("headrace-test")
    yield group
    for lease in list(group.leases):
        lease.release()
    group.settle()


def alive(group):
    return [thread for thread in threading.enumerate() if isinstance(thread, GroupThread) and thread.group is group]


def wait_until(condition):
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.001)


def test_no_thread_without_a_lease(group):
    assert not alive(group)
    lease = group.lease(3)
    assert len(alive(group)) == 3
    lease.release()
    group.settle()
    assert not alive(group)


def test_leases_share_threads(group):
    small, large = group.lease(2), group.lease(5)
    assert len(alive(group)) == 5
    large.release()
    wait_until(lambda: len(alive(group)) == 2)
    large.release()
    small.release()
    group.settle()
    assert not alive(group)


def test_jobs_are_taken_in_their_order(group):
    seen = []
    for number in range(100):
        group.submit(lambda number=number: seen.append(number))
    group.lease(1)
    wait_until(lambda: len(seen) == 100)
    assert seen == list(range(100))


def test_a_lease_of_a_job_gets_threads_of_its_own(group):
    """Else a loader inside another one's transform would wait for the thread that waits for it."""
    done = threading.Event()

    def outer():
        lease = group.lease(1)
        inner = threading.Event()
        group.submit(inner.set)
        if inner.wait(PATIENCE_S):
            done.set()
        lease.release()

    group.lease(1)
    group.submit(outer)
    assert done.wait(PATIENCE_S)


def test_an_idle_thread_keeps_no_job_alive(group):
    class Job:
        def __call__(self):
            pass

    group.lease(2)
    jobs = [Job() for _ in range(20)]
    watched = [weakref.ref(job) for job in jobs]
    for job in jobs:
        group.submit(job)
    del job
    jobs.clear()
    wait_until(lambda: gc.collect() >= 0 and not any(ref() for ref in watched))


def test_no_thread_to_be_had(group, monkeypatch):
    start = threading.Thread.start

    def refuse(thread):
        if len(alive(group)) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(WorkerError, match=r"no further thread.*5 threads asked for") as caught:
        group.lease(5)
    assert caught.value.retryable
    monkeypatch.undo()
    group.settle()
    assert not alive(group)
    group.lease(1)
    assert len(alive(group)) == 1


def test_settling_waits_for_a_job_that_has_begun(group):
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def job():
        begun.set()
        may_end.wait(PATIENCE_S)
        ended.set()

    lease = group.lease(1)
    group.submit(job)
    begun.wait(PATIENCE_S)
    lease.release()
    threading.Timer(0.02, may_end.set).start()
    group.settle()
    assert ended.is_set()
    assert not alive(group)
