from __future__ import annotations

import os
import subprocess
import sys

from headrace.cli.demo.memory import family_memory_bytes

HOLD = "import sys; held = bytearray(b'x') * (64 << 20); print('held', flush=True); sys.stdin.read()"


def test_children_count_and_the_dead_do_not():
    before = family_memory_bytes(os.getpid())
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        # This process may give some of its own memory back meanwhile, but hardly half of what the child holds.
        assert family_memory_bytes(os.getpid()) >= before + (32 << 20)
        alone = family_memory_bytes(child.pid)
        assert 64 << 20 <= alone <= 128 << 20
        child.communicate()
    assert family_memory_bytes(child.pid) == 0
