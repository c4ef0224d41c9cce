import errno
import os

import pytest

from headrace.engine.refusals import no_memory, no_process, no_thread
from headrace.errors import MemoryBudgetError, OpenFilesError, WorkerError


def system_error(number):
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (system_error(errno.EMFILE), OpenFilesError, "ulimit -n"),
        (system_error(errno.ENFILE), OpenFilesError, "fs.file-max"),
        (system_error(errno.EFBIG), MemoryBudgetError, "ulimit -f"),
        (MemoryError("Unable to allocate"), MemoryBudgetError, "memory"),
    ],
)
def test_memory_that_is_not_given_says_what_for_how_much_and_which_limit(error, kind, words):
    told = no_memory(error, "a batch", 64 << 20)
    assert type(told) is kind
    assert f"no memory for a batch; got 64 MiB asked for: {error}" in str(told)
    assert words in told.remedy


def test_threads_and_processes_that_are_not_given_are_worth_another_try():
    for told in (no_thread(3, "4 alive"), no_process(system_error(errno.EAGAIN), 3)):
        assert type(told) is WorkerError
        assert told.retryable
        assert told.remedy
