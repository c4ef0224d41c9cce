import pytest

from headrace._base.cgroups import ControlGroups

V2_MOUNT = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_CPU = "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
V1_MEMORY = "34 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
NO_LIMIT_V1 = "9223372036854771712\n"


@pytest.fixture
def system(tmp_path):
    """Writes a tree of files as the kernel shows them; a value of None makes a folder."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return ControlGroups.of_this_process(tmp_path)

    return write


def test_version_2(system):
    groups = system(
        {
            "proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + V2_MOUNT,
            "proc/self/cgroup": "0::/user.slice/job\n",
            "sys/fs/cgroup/user.slice/job/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/user.slice/job/memory.max": "1000000\n",
            "sys/fs/cgroup/user.slice/job/memory.current": "700000\n",
            "sys/fs/cgroup/user.slice/job/memory.stat": "anon 400000\ninactive_file 250000\nactive_file 1\n",
        }
    )
    assert groups.cpu_quota() == 1.5
    assert groups.memory_limit_bytes() == 1_000_000
    assert groups.memory_headroom_bytes() == 550_001


def test_version_2_limits_of_ancestors_bind(system):
    groups = system(
        {
            "proc/self/mountinfo": V2_MOUNT,
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/a/memory.max": "5000\n",
            "sys/fs/cgroup/a/memory.current": "4000\n",
            "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
            "sys/fs/cgroup/a/b/memory.max": "8000\n",
            "sys/fs/cgroup/a/b/memory.current": "1000\n",
        }
    )
    assert (groups.cpu_quota(), groups.memory_limit_bytes(), groups.memory_headroom_bytes()) == (2.0, 5000, 1000)


def test_version_2_without_limits(system):
    groups = system(
        {
            "proc/self/mountinfo": V2_MOUNT,
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "max 100000\n",
            "sys/fs/cgroup/memory.max": "max\n",
        }
    )
    assert (groups.cpu_quota(), groups.memory_limit_bytes(), groups.memory_headroom_bytes()) == (None, None, None)


def test_version_1(system):
    groups = system(
        {
            "proc/self/mountinfo": V1_CPU + V1_MEMORY,
            "proc/self/cgroup": "5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/job\n0::/\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4096000\n",
            "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "4000000\n",
            "sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 3000000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT_V1,
        }
    )
    assert groups.cpu_quota() == 0.5
    assert groups.memory_limit_bytes() == 4_096_000
    assert groups.memory_headroom_bytes() == 3_096_000


def test_version_1_without_limits(system):
    groups = system(
        {
            "proc/self/mountinfo": V1_CPU + V1_MEMORY,
            "proc/self/cgroup": "5:memory:/\n4:cpu,cpuacct:/\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT_V1,
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
        }
    )
    assert (groups.cpu_quota(), groups.memory_limit_bytes(), groups.memory_headroom_bytes()) == (None, None, None)


def test_a_container_that_sees_its_group_as_the_mount_point(system):
    """The line of /proc/self/cgroup names the group as the host knows it; the mount shows only the group itself."""
    groups = system(
        {
            "proc/self/mountinfo": "34 31 0:30 /docker/0f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
            "proc/self/cgroup": "5:memory:/docker/0f\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "77\n",
        }
    )
    assert groups.memory_limit_bytes() == 77


def test_a_group_that_lies_outside_of_the_mount(system):
    groups = system(
        {
            "proc/self/mountinfo": V2_MOUNT,
            "proc/self/cgroup": "0::/../../elsewhere\n",
            "sys/fs/cgroup/memory.max": "99\n",
        }
    )
    assert groups.memory_limit_bytes() == 99


def test_no_control_groups(tmp_path):
    groups = ControlGroups.of_this_process(tmp_path)
    assert (groups.cpu_quota(), groups.memory_limit_bytes(), groups.memory_headroom_bytes()) == (None, None, None)
