"""The result does not depend on threads; several callers, forks and the end of a pool."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from headrace import _native
from headrace._base.hashing import sample_keys
from headrace.recipes import draws
from tests.property.kernel.kernel_calls import encode, run

RATIO = (3 / 4, 4 / 3)
GEOMETRY = _native.Geometry(
    kind="random_resized_crop",
    height=32,
    width=32,
    ratio=RATIO,
    log_ratio=draws.log_ratio(RATIO),
    flip_probability=0.5,
    flip_op=1,
)


@pytest.fixture(scope="module")
def files(photograph):
    return [encode(photograph.resize((40 + 7 * i, 90 - i)), quality=90) for i in range(40)]


def result(pool, files, epoch=0):
    return run(pool, GEOMETRY, files, 32, 32, keys=sample_keys(1, epoch, np.arange(len(files))))


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(files, num_threads):
    expected, expected_report = result(_native.Pool(0), files)
    pool = _native.Pool(num_threads)
    assert pool.num_threads == num_threads
    out, report = result(pool, files)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(report.params, expected_report.params)
    pool.close()


def test_four_callers_at_once(files):
    expected = [result(_native.Pool(0), files, epoch)[0] for epoch in range(8)]
    pool = _native.Pool(2)
    same = []

    def call(first: int) -> None:
        same.extend(np.array_equal(result(pool, files, epoch)[0], expected[epoch]) for epoch in range(first, 8, 4))

    threads = [threading.Thread(target=call, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close()
    assert same == [True] * 8


def test_an_earlier_turn_is_done_before_a_long_batch_of_a_later_one(files):
    pool = _native.Pool(1)
    begins, ends = threading.Event(), []

    def call(turn: int, batch: list[bytes]) -> None:
        _native.Pool.set_turn(turn)
        if turn == 1:
            begins.wait()
        begins.set()
        result(pool, batch)
        ends.append(turn)

    threads = [threading.Thread(target=call, args=(turn, batch)) for turn, batch in ((1, files), (2, files * 50))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close()
    assert ends == [1, 2]


@pytest.mark.parametrize("turn", [-1, 1 << 64, 0.5, None])
def test_a_turn_is_a_number_of_64_bits(turn):
    with pytest.raises(TypeError):
        _native.Pool.set_turn(turn)


def test_close_is_idempotent_and_ends_the_pool(files):
    for num_threads in (0, 2):
        pool = _native.Pool(num_threads)
        pool.close()
        pool.close()
        with pytest.raises(ValueError, match="closed"):
            result(pool, files)


def test_close_waits_for_batches_handed_in(files):
    pool = _native.Pool(1)
    ends, first_done = [], threading.Event()

    def call() -> None:
        try:
            while True:
                assert not result(pool, files)[1].status.any()
                first_done.set()
        except ValueError as error:
            ends.append(str(error))

    caller = threading.Thread(target=call)
    caller.start()
    assert first_done.wait(30)
    pool.close()
    caller.join(30)
    assert ends == ["the pool is closed"]


def test_an_empty_batch(pool):
    _, report = run(pool, GEOMETRY, [], 32, 32)
    assert report.status.shape == (0,)
    assert report.params.shape == (0, 8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_pool_lives_on_after_a_fork(files):
    expected, _ = result(_native.Pool(0), files)
    pool = _native.Pool(2)
    result(pool, files)
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = all(np.array_equal(result(pool, files)[0], expected) for _ in range(3))
            pool.close()
            del pool
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(result(pool, files)[0], expected)
    pool.close()


@pytest.mark.parametrize(
    "leaves", ["pool", "pool.close()", "del pool", "threading.Thread(target=use, daemon=True).start()"]
)
def test_the_interpreter_ends(leaves):
    script = textwrap.dedent(
        """
        import threading
        import numpy as np
        from headrace import _native

        pool = _native.Pool(2)
        geometry = _native.Geometry(kind="full", height=8, width=8)

        def use():
            pixels = np.zeros((8, 8, 3), np.uint8)
            one = np.array([pixels.ctypes.data], np.uint64)
            side, out = np.array([8], np.int32), np.zeros((1, 3, 8, 8), np.uint8)
            while True:
                _native.run_pixels(pool, geometry, one, side, side, np.array([24]), one, out, np.array([0]))
                if threading.current_thread() is threading.main_thread():
                    return

        use()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script + leaves], timeout=60, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
