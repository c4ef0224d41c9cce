import functools
import io
import logging
import os
import pickle
import queue
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

from headrace.engine.processes.culprits import is_picklable
from headrace.engine.processes.work_pickler import pickled_work


def sent(value):
    """What a worker gets, without buffers beside the pickle."""
    return pickle.loads(pickled_work(value, lambda _: True))


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, threading.Condition])
@pytest.mark.parametrize("is_held", [False, True])
def test_locks_are_had_anew_and_free(make, is_held):
    here = make()
    if is_held:
        here.acquire()
    there = sent({"lock": here, "again": here})
    assert type(there["lock"]) is type(here)
    assert there["again"] is there["lock"] is not here
    if not isinstance(here, threading.Condition):
        assert there["lock"].acquire(blocking=False)
    if is_held:
        here.release()


def test_queues_events_and_what_threads_have_for_themselves_travel():
    texts, event, local = queue.Queue(), threading.Event(), threading.local()
    assert sent(threading.Semaphore(2)).acquire(blocking=False)
    texts.put("a")
    event.set()
    local.number = 3
    got = sent((texts, event, local, logging.getLogger("one")))
    assert got[0].get_nowait() == "a"
    assert got[1].is_set()
    assert got[2].number == 3
    assert got[3] is logging.getLogger("one")


def scaled(factor):
    @functools.lru_cache(maxsize=8, typed=True)
    def scale(number):
        return number if number < 2 else factor * scale(number - 1)

    return scale


def test_cached_functions_that_no_module_names_travel_with_an_empty_cache_of_their_own():
    here = scaled(3)
    assert here(4) == 27
    there, again = sent((here, here))
    assert there is again is not here
    assert there.cache_parameters() == {"maxsize": 8, "typed": True}
    assert there.cache_info().currsize == 0
    assert there(4) == 27
    assert there.cache_info().currsize == 4, "it calls itself through its cache"
    assert here.cache_info().misses == 4


@functools.cache
def doubled(number):
    return 2 * number


class Cached:
    @functools.cached_property
    def text(self):
        return "a"

    @functools.lru_cache  # noqa: B019 - as users write it
    def tripled(self, number):
        return 3 * number


def test_cached_functions_that_a_module_names_are_looked_up_there():
    assert sent(doubled) is doubled
    assert sent(Cached.tripled) is Cached.tripled


SCRIPT = """
import functools, pickle, sys
from headrace.engine.processes.work_pickler import pickled_work
exec({source!r})
sys.stdout.buffer.write(pickled_work((doubled, Cached()), lambda _: True))
"""


def test_cached_functions_and_methods_of_a_script_travel_with_it():
    source = """
@functools.cache
def doubled(number):
    return 2 * number

class Cached:
    @functools.lru_cache(maxsize=2)
    def quadrupled(self, number):
        return 2 * doubled(number)
"""
    script = SCRIPT.format(source=source)
    done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, env=os.environ)
    function, dataset = pickle.loads(done.stdout)
    assert function(4) == 8
    assert [dataset.quadrupled(4), dataset.quadrupled(4)] == [16, 16]
    assert type(dataset).quadrupled.cache_info().hits == 1
    assert function.cache_info().hits == 1, "the method has the same cached function"


@pytest.mark.parametrize("buffering", [0, -1])
def test_files_open_for_reading_are_opened_again_at_their_place(tmp_path, monkeypatch, buffering):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").write_bytes(b"0123456789")
    with open("rows", "rb", buffering) as here:  # noqa: PTH123 - by a name that is not absolute
        here.seek(4)
        there = sent(here)
        with there:
            assert type(there) is type(here)
            assert there.read(2) == b"45"
            assert here.tell() == 4


def test_archives_are_opened_again(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "text")
    with zipfile.ZipFile(tmp_path / "a.zip") as here, sent(here) as there:
        assert there.read("a.txt") == here.read("a.txt") == b"text"


def test_what_belongs_to_one_process_stays_there(tmp_path):
    (tmp_path / "rows").write_bytes(b"rows")
    with (tmp_path / "rows").open("r+b") as both, (tmp_path / "rows").open("rb") as replaced:
        assert not is_picklable(both)
        (tmp_path / "rows").unlink()
        assert not is_picklable(replaced), "the file is gone"
        (tmp_path / "rows").write_bytes(b"others")
        assert not is_picklable(replaced), "another one has its name"
    assert not is_picklable(replaced), "closed"
    for value in (threading.Thread(target=print), (row for row in "ab"), io.FileIO(0, closefd=False)):
        assert not is_picklable([value])


def test_arrays_over_files_keep_what_they_tell_of_them(tmp_path):
    here = np.memmap(tmp_path / "rows", mode="w+", dtype=np.int16, shape=(4, 3))
    here[:] = np.arange(12).reshape(4, 3)
    there = sent(here[1:])
    assert type(there) is np.memmap
    assert (there.filename, there.mode, there.tolist()) == (here.filename, "w+", here[1:].tolist())
