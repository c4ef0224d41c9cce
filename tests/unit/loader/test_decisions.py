import pytest

from headrace.datasets.plan import DecodeOptions
from headrace.errors import OptionError
from headrace.loader.memory import LEAST_BYTES, MOST_BYTES, decide_memory
from headrace.loader.options import LoaderOptions, resolve_shuffle, resolve_tail
from headrace.loader.workers import decide_workers


@pytest.mark.parametrize(
    ("tail", "drop_last", "world_size", "expected"),
    [
        (None, False, 1, "keep"),
        (None, False, 4, "pad"),
        (None, True, 1, "drop"),
        (None, True, 4, "drop"),
        ("keep", False, 4, "keep"),
        ("pad", False, 1, "pad"),
    ],
)
def test_tail_is_what_torch_means(tail, drop_last, world_size, expected):
    assert resolve_tail(tail, drop_last=drop_last, world_size=world_size) == expected


@pytest.mark.parametrize(
    ("shuffle", "sharded", "expected"),
    [
        (None, True, "none"),
        (False, False, "none"),
        (True, True, "window"),
        (True, False, "full"),
        ("full", True, "full"),
        ("window", False, "window"),
    ],
)
def test_shuffle_true_follows_the_dataset(shuffle, sharded, expected):
    assert resolve_shuffle(shuffle, sharded=sharded) == expected


def test_auto_workers_share_the_cpus_between_ranks():
    assert decide_workers("auto", num_cpus=16, local_world_size=4, prefetch_factor=None).num_workers == 4
    assert decide_workers("auto", num_cpus=2, local_world_size=8, prefetch_factor=None).num_workers == 1


def test_workers_as_asked_and_prefetch_as_torch_counts_it():
    decision = decide_workers(3, num_cpus=64, local_world_size=1, prefetch_factor=2)
    assert (decision.num_workers, decision.max_in_flight) == (3, 6)
    assert decide_workers(0, num_cpus=4, local_world_size=1, prefetch_factor=None).num_io_threads == 0


def test_auto_memory_is_a_share_between_bounds():
    gib = 1 << 30
    assert decide_memory("auto", available_bytes=10 * gib, local_world_size=2).size_bytes == gib
    assert decide_memory("auto", available_bytes=1000 * gib, local_world_size=1).size_bytes == MOST_BYTES
    assert decide_memory("auto", available_bytes=1 << 20, local_world_size=1).size_bytes == LEAST_BYTES
    assert decide_memory("3GiB", available_bytes=1, local_world_size=8).size_bytes == 3 * gib


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 0},
        {"batch_size": True},
        {"num_workers": -1},
        {"num_workers": 3000},
        {"num_workers": "many"},
        {"tail": "cut"},
        {"shuffle": "yes"},
        {"shuffle": 1},
        {"engine": "fast"},
        {"on_error": "ignore"},
        {"extras": ("path",)},
        {"drop_last": True, "tail": "pad"},
        {"memory_budget": "8 apples"},
        {"seed": 1.5},
        {"prefetch_factor": 0},
        {"window_samples": 0},
        {"collate_fn": 3},
        {"decode": DecodeOptions(fuse="yes")},
        {"decode": DecodeOptions(memory_format="nhwc")},
        {"decode": DecodeOptions(exif=True)},
    ],
)
def test_wrong_options_are_refused_by_name(wrong):
    name = (
        "memory_budget|size|fuse|memory_format|exif" if {"memory_budget", "decode"} & set(wrong) else next(iter(wrong))
    )
    with pytest.raises(OptionError, match=name):
        LoaderOptions(**({"decode": DecodeOptions()} | wrong))
