import os
import resource
import threading

import pytest

from headrace._base.open_files import MOST_FILES, OpenFiles, num_open_files, open_file_limits, raise_open_file_limit


@pytest.fixture
def limit():
    """Sets the soft limit for the time of a test."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def set_to(soft):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))

    yield set_to
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_capacity_follows_the_limit(limit):
    limit(400)
    files = OpenFiles()
    assert (files.capacity, files.most_at_once) == (100, 50)
    raise_open_file_limit(480)
    assert files.capacity == 120
    limit(max(4 * MOST_FILES + 4000, 64) if open_file_limits()[1] is None else min(open_file_limits()[1], 9000))
    assert files.capacity <= MOST_FILES


def test_a_limit_is_raised_and_never_lowered(limit):
    limit(300)
    raise_open_file_limit(200)
    assert open_file_limits()[0] == 300
    raise_open_file_limit(350)
    assert open_file_limits()[0] == 350


def test_open_files_are_counted():
    before = num_open_files()
    read_end, write_end = os.pipe()
    assert num_open_files() == before + 2
    os.close(read_end)
    os.close(write_end)
    assert num_open_files() == before


def test_who_asks_for_too_many_waits_for_the_others(limit):
    limit(64)
    files = OpenFiles()
    events = []
    reads, may_end = threading.Event(), threading.Event()

    def first():
        with files.reading(12):
            reads.set()
            may_end.wait(10)
            events.append("first ends")

    def second():
        reads.wait(10)
        with files.reading(8):
            events.append("second reads")

    threads = [threading.Thread(target=one) for one in (first, second)]
    for thread in threads:
        thread.start()
    reads.wait(10)
    with files.reading(4):
        pass  # this many still fit
    assert events == []
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert events == ["first ends", "second reads"]
    assert files.num_in_use == 0


def test_who_asks_for_more_than_there_are_goes_alone(limit):
    limit(64)
    files = OpenFiles()
    with files.reading(1000):
        assert files.num_in_use == 1000
    with pytest.raises(KeyError), files.reading(3):
        raise KeyError
    assert files.num_in_use == 0


def test_a_forked_child_starts_anew():
    files = OpenFiles()
    with files.reading(3), files.turn:
        child = os.fork()
        if child == 0:
            os._exit(0 if files.num_in_use == 0 and files.turn.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
