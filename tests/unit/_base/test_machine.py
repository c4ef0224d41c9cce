import dataclasses
import os

import psutil
import pytest

from headrace._base import machine
from headrace._base.machine import read_machine


def test_the_facts_of_this_machine_make_sense():
    facts = read_machine()
    assert 1 <= facts.usable_cpus <= facts.affinity_cpus <= facts.logical_cpus
    assert 0 < facts.memory_available_bytes <= facts.memory_total_bytes <= psutil.virtual_memory().total
    assert facts.open_files_soft is None or facts.open_files_soft > 3


@pytest.mark.parametrize(
    ("affinity", "quota", "usable"), [(8, None, 8), (8, 2.0, 2), (8, 2.5, 3), (8, 0.25, 1), (2, 16.0, 2)]
)
def test_usable_cpus(affinity, quota, usable):
    facts = dataclasses.replace(read_machine(), affinity_cpus=affinity, quota_cpus=quota)
    assert facts.usable_cpus == usable


def test_limits_of_a_control_group_count(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("31 24 0:27 / /cg rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "cg").mkdir()
    for name, text in {"cpu.max": "100000 100000", "memory.max": "5000", "memory.current": "2000"}.items():
        (tmp_path / "cg" / name).write_text(text)
    facts = read_machine(tmp_path)
    assert (facts.usable_cpus, facts.memory_total_bytes, facts.memory_available_bytes) == (1, 5000, 3000)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_affinity_counts():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert read_machine().usable_cpus == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_system_without_affinity_and_shared_memory(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(machine, "SHARED_MEMORY", tmp_path / "none")
    facts = read_machine(tmp_path)
    assert facts.affinity_cpus == os.cpu_count()
    assert facts.shm_total_bytes is None is facts.quota_cpus


def test_unlimited_open_files(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    facts = read_machine()
    assert (facts.open_files_soft, facts.open_files_hard) == (256, None)
