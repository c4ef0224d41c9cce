import errno
import resource

import pytest

from headrace._base.process_limits import ProcessLimits, read_process_limits, remedy

FREE = ProcessLimits(taken_bytes=4 << 30)
NARROW = ProcessLimits(address_space_bytes=(4 << 30) + (32 << 20), taken_bytes=4 << 30, num_processes=100)
WIDE = ProcessLimits(address_space_bytes=64 << 30, taken_bytes=4 << 30, num_processes=100)


@pytest.mark.parametrize(
    ("number", "wanted", "limits", "words"),
    [
        (errno.EMFILE, "a process", ProcessLimits(open_files=20), "ulimit -n, now 20"),
        (errno.EMFILE, "a process", FREE, "ulimit -n"),
        (errno.ENFILE, "a process", FREE, "fs.file-max"),
        (errno.EFBIG, "memory", ProcessLimits(file_bytes=1 << 20), "ulimit -f, now 1 MiB"),
        (errno.ENOSPC, "memory", FREE, "TMPDIR"),
        (errno.ENOMEM, "memory", NARROW, "ulimit -v, now 4 GiB, 4 GiB of which are taken"),
        (errno.ENOMEM, "a process", NARROW, "ulimit -v"),
        (errno.EAGAIN, "a thread", NARROW, "ulimit -v"),
        (errno.EAGAIN, "a thread", WIDE, "ulimit -u, now 100"),
        (errno.EAGAIN, "a process", WIDE, "ulimit -u, now 100"),
        (errno.EAGAIN, "a thread", FREE, "pids.max"),
        (errno.ENOMEM, "memory", ProcessLimits(data_bytes=1 << 30), "ulimit -d, now 1 GiB"),
        (errno.ENOMEM, "memory", FREE, "vm.overcommit_memory"),
        (errno.EAGAIN, "memory", ProcessLimits(locked_bytes=8 << 20), "ulimit -l, now 8 MiB"),
        (errno.EPERM, "memory", ProcessLimits(locked_bytes=0), "ulimit -l, now 0 B"),
    ],
)
def test_the_limit_that_is_in_the_way_is_named_with_its_value(number, wanted, limits, words):
    told = remedy(number, wanted, limits)
    assert words in told
    others = {f"ulimit -{flag}" for flag in "dflnuv"} - {words[:9]}
    assert not any(other in told for other in others), f"another limit is named: {told}"


def test_what_is_asked_for_counts():
    assert "ulimit -u" in remedy(errno.EAGAIN, "a process", WIDE)
    assert "ulimit -v" in remedy(errno.ENOMEM, "memory", WIDE, size_bytes=61 << 30)


def test_the_limits_of_this_process():
    limits = read_process_limits()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limits.open_files == (None if soft == resource.RLIM_INFINITY else soft)
    assert limits.taken_bytes > 1 << 20
