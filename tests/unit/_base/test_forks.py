import os

import pytest

from headrace._base.forks import ForkCount, ForkWatch, renew_after_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


class Renewed:
    def __init__(self):
        self.times = 0

    def after_fork(self):
        self.times += 1


def exit_code_of_child(check):
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_what_is_watched_is_renewed_in_the_child_and_only_there():
    item = Renewed()
    renew_after_fork(item)
    assert exit_code_of_child(lambda: item.times == 1) == 0
    assert item.times == 0


def test_a_grandchild_renews_again():
    item = Renewed()
    renew_after_fork(item)
    assert exit_code_of_child(lambda: exit_code_of_child(lambda: item.times == 2) == 0) == 0


def test_it_holds_nothing():
    watch = ForkWatch()
    watch.registered = True
    watch.add(Renewed())
    assert len(watch.watched) == 0


def test_forks_are_counted_on_both_sides():
    count = ForkCount()
    count.watch()
    count.watch()
    assert exit_code_of_child(lambda: count.num == 1) == 0
    assert count.num == 1
