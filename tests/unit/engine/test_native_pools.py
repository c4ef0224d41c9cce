import os
import threading

import pytest

from headrace.engine.native_pools import NATIVE_POOLS, shared_native_pool


def test_holders_of_one_size_share_a_pool_that_ends_with_the_last():
    with shared_native_pool(2) as first, shared_native_pool(2) as second:
        assert first is second
        assert first.num_threads == 2
        with shared_native_pool(1) as other:
            assert other is not first
        assert set(NATIVE_POOLS.pools) == {2}
    assert not NATIVE_POOLS.pools
    with shared_native_pool(2) as anew:
        assert anew is not first


def test_an_exception_lets_the_pool_go():
    with pytest.raises(KeyError), shared_native_pool(1):
        raise KeyError
    assert not NATIVE_POOLS.pools


def test_many_threads_come_and_go():
    def hold():
        for _ in range(200):
            with shared_native_pool(1) as pool:
                assert pool.num_threads == 1

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not NATIVE_POOLS.pools
    assert not +NATIVE_POOLS.holders


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_makes_its_own_pool_and_leaves_the_parents_alone():
    with shared_native_pool(2) as pool:
        with NATIVE_POOLS.lock:
            child = os.fork()
        if child == 0:
            with shared_native_pool(2) as own:
                fresh = own is not pool
            os._exit(0 if fresh and not NATIVE_POOLS.pools else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert NATIVE_POOLS.pools == {2: pool}
