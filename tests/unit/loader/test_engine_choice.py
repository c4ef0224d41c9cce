import time

import pytest
import torch

from headrace.loader.engine_choice import PythonPart, choose_engine, without_processes
from headrace.loader.gil_share import GilShare, gil_share, held_part, measure_gil_share
from headrace.loader.workers import decide_workers


def choice(asked="auto", *, num_workers="auto", batch_size=64, native=False, cpus=2, prefetch_factor=None, **python):
    measured = {"sample_s": 1e-3, "share": 1.0, "busy": 1.0} | python.pop("measured", {})
    part = PythonPart(
        **({"starts_workers": False, "draws_globally": None, "num_samples": 10**6, "makes_samples": True} | python),
        measured=GilShare(**measured) if measured["sample_s"] else None,
    )
    return choose_engine(
        asked,
        workers=decide_workers(num_workers, num_cpus=cpus, local_world_size=1, prefetch_factor=prefetch_factor),
        batch_size=batch_size,
        prefetch_factor=prefetch_factor,
        python=None if native else part,
    )


@pytest.mark.parametrize("asked", ["auto", "threads", "processes"])
def test_no_workers_are_the_callers_thread(asked):
    assert choice(asked, num_workers=0).kind == "caller"


@pytest.mark.parametrize("asked", ["threads", "processes"])
def test_what_is_asked_for_is_done(asked):
    assert choice(asked).kind == choice(asked, native=True).kind == asked


def test_native_work_needs_no_processes():
    assert choice(native=True).kind == "threads"


def test_python_that_holds_the_lock_goes_to_processes():
    chosen = choice()
    assert chosen.kind == "processes"
    assert "1 ms and holds the GIL for 100%" in chosen.reason
    assert "a sample takes 3,000 ms" in choice(measured={"sample_s": 3.0}).reason


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"measured": {"share": 0.3}}, "threads"),
        ({"measured": {"share": 0.4}}, "processes"),
        ({"measured": {"share": 0.4}, "num_workers": 1}, "threads"),
        ({"measured": {"share": 0.3}, "num_workers": 8}, "processes"),
        ({"measured": {"sample_s": 1e-5}}, "caller"),
        ({"measured": {"sample_s": 1e-5}, "num_workers": 2}, "threads"),
        ({"measured": {"sample_s": 1e-5, "share": 0.4}}, "threads"),
        ({"num_samples": 4000}, "caller"),
        ({"num_samples": 4000, "makes_samples": False}, "threads"),
        ({"measured": {"sample_s": 5e-7}}, "caller"),
        ({"measured": {"sample_s": 5e-7}, "num_workers": 2}, "threads"),
        ({"measured": {"sample_s": 5e-7}, "batch_size": 2048}, "caller"),
        ({"measured": {"sample_s": 5e-7, "share": 0.4, "busy": 0.4}}, "threads"),
        ({"measured": {"sample_s": 5e-7}, "makes_samples": False}, "threads"),
        ({"measured": {"sample_s": 5e-7}, "asked": "threads"}, "threads"),
    ],
)
def test_the_share_the_batch_and_the_epoch_decide(change, kind):
    assert choice(**change).kind == kind


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"measured": {"share": 0.0, "busy": 0.0}}, "processes"),
        ({"num_samples": 4000}, "caller"),
        ({"num_samples": 4000, "num_workers": 2}, "processes"),
        ({"measured": {"sample_s": 0}}, "caller"),
        ({"measured": {"sample_s": 0}, "num_workers": 2}, "processes"),
        ({"asked": "threads"}, "threads"),
    ],
)
def test_what_threads_cannot_share_is_made_by_processes_or_the_caller(change, kind):
    chosen = choice(confined="the dataset changes while it makes samples", **change)
    assert chosen.kind == kind
    assert ("threads cannot share it" in chosen.reason) == (kind != "threads")


@pytest.mark.parametrize("num_workers", ["auto", 2])
def test_what_belongs_to_this_process_stays_with_the_caller(num_workers):
    chosen = choice(rooted="dataset.file", num_workers=num_workers)
    assert (chosen.kind, chosen.workers.num_workers) == ("caller", 0)
    assert "dataset.file cannot be sent" in chosen.reason


SHORT = {"num_samples": 900, "measured": {"sample_s": 1e-3}}
"""An epoch of 0.9 s, batches of 64 ms."""


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "caller"),
        ({"num_workers": 2}, "threads"),
        ({"num_workers": 1}, "threads"),
        ({"makes_samples": False}, "threads"),
    ],
)
def test_processes_come_later_where_only_a_short_epoch_speaks_against_them(change, kind):
    chosen = choice(**SHORT | change)
    assert chosen.kind == kind
    later = chosen.later
    assert (later.choice.kind, later.held_s, later.num_samples) == ("processes", 1e-3, 900)
    assert later.choice.workers.num_workers == (1 if change.get("num_workers") == 1 else 2)
    assert "a sample takes 1 ms" in later.choice.reason


@pytest.mark.parametrize(
    "change",
    [
        {"num_workers": 0},
        {"asked": "threads"},
        {"asked": "processes"},
        {"native": True},
        {"cpus": 1},
        {"num_samples": 10**6},  # at once
        {"measured": {"sample_s": 1e-5}},
        {"measured": {"share": 0.3}},
        {"measured": {"sample_s": 0}},
        {"confined": "samples draw from global generators"},
        {"rooted": "dataset.file"},
        {"has_timeout": True},
        {"starts_workers": True},
    ],
)
def test_processes_do_not_come_later_where_anything_else_speaks_against_them(change):
    assert choice(**SHORT | change).later is None


@pytest.mark.parametrize(
    ("num_past", "is_worth"), [(0, False), (1, False), (599, False), (600, True), (900, True), (10**6, True)]
)
def test_a_start_pays_once_epochs_have_been_gone_through(num_past, is_worth):
    assert choice(**SHORT).later.is_worth_a_start(num_past) == is_worth


def test_nobody_knows_of_a_long_epoch_that_another_one_follows():
    assert not choice(**SHORT | {"num_samples": 4900}).later.is_worth_a_start(0)
    assert choice(**SHORT | {"num_samples": 4900}).later.is_worth_a_start(64)


def test_python_that_holds_the_lock_is_not_made_beside_the_training_loop():
    chosen = choice(measured={"sample_s": 5e-5}, num_samples=4000)
    assert (chosen.kind, chosen.workers.num_workers) == ("caller", 0)
    assert "a thread would only keep the GIL from the training loop" in chosen.reason


def test_the_callers_thread_has_no_workers_and_says_why():
    chosen = choice(measured={"sample_s": 5e-7})
    assert chosen.workers.num_workers == 0
    assert "a batch takes 32 us" in chosen.reason


@pytest.mark.parametrize("python", [{"starts_workers": True}, {"draws_globally": "ColorJitter"}])
def test_what_only_a_process_can_do(python):
    assert choice(num_samples=1, **python).kind == "processes"


def test_samples_that_cannot_be_made_stay_where_their_error_is_seen():
    assert choice(measured={"sample_s": 0}).kind == "threads"


SLEEPER = {"sample_s": 0.1, "share": 0.0, "busy": 0.001}


@pytest.mark.parametrize(
    ("measured", "cpus", "threads"),
    [
        (SLEEPER, 2, 32),
        (SLEEPER, 64, 32),
        ({"sample_s": 0.1, "share": 0.1, "busy": 0.2}, 2, 9),  # the lock has room for nine, and for the trainer
        ({"sample_s": 0.1, "share": 0.0, "busy": 0.2}, 2, 10),
        ({"sample_s": 0.1, "share": 0.25, "busy": 1.0}, 2, 2),
        ({"sample_s": 2e-5, "share": 0.45, "busy": 1.0}, 2, 1),
        ({"sample_s": 2e-5, "share": 0.45, "busy": 1.0}, 64, 1),
    ],
)
def test_threads_are_as_many_as_cpus_and_the_lock_keep_at_work(measured, cpus, threads):
    chosen = choice(measured=measured, cpus=cpus)
    assert (chosen.kind, chosen.workers.num_workers) == ("threads", threads)


def test_a_number_of_workers_that_was_asked_for_stays():
    assert choice(measured=SLEEPER, num_workers=3).workers.num_workers == 3
    assert choice(measured=SLEEPER, makes_samples=False).workers.num_workers == 2
    assert choice(native=True).workers.num_workers == 2
    assert choice("processes", measured=SLEEPER).workers.num_workers == 2


def test_threads_that_wait_are_told_with_their_reason_and_two_steps_each():
    workers = choice(measured=SLEEPER).workers
    assert "wait for 100% of their time" in workers.reason
    assert workers.max_in_flight == 64
    assert choice(measured=SLEEPER, prefetch_factor=1).workers.max_in_flight == 32


@pytest.mark.parametrize(
    ("facts", "share", "busy"),
    [
        ({"elapsed_s": 1, "held_s": 0.9, "run_s": 0.9, "queued_s": 0}, 0.9, 0.9),
        ({"elapsed_s": 1, "held_s": 0.13, "run_s": 0.001, "queued_s": 0}, 0.001, 0.001),  # the ticker woke up late
        ({"elapsed_s": 2, "held_s": 1.9, "run_s": 1, "queued_s": 1}, 0.95, 1),  # half of the time others ran
        ({"elapsed_s": 2, "held_s": 0.6, "run_s": 1, "queued_s": 1}, 0.3, 1),
        ({"elapsed_s": 1, "held_s": 5, "run_s": 0.5, "queued_s": 0}, 0.5, 0.5),
        ({"elapsed_s": 0.001, "held_s": 0, "run_s": 0.001, "queued_s": 0}, 1, 1),  # over before the lock is passed on
        ({"elapsed_s": 0, "held_s": 0, "run_s": 0, "queued_s": 0}, 0, 0),
        ({"elapsed_s": 1, "held_s": 0, "run_s": 1.001, "queued_s": 1}, 0, 1),  # clocks that do not quite agree
    ],
)
def test_the_lock_is_held_no_longer_than_the_thread_runs(facts, share, busy):
    measured = gil_share(10, **facts)
    assert (measured.share, measured.busy) == pytest.approx((share, busy))
    assert measured.sample_s == pytest.approx(
        max(facts["elapsed_s"] - facts["queued_s"], facts["run_s"]) / 10, abs=1e-9
    )


@pytest.mark.parametrize(
    ("taken", "part"),
    [
        ((100, 0, 0.01, 0.0001), 0.01),  # free whenever it was asked for
        ((20, 20, 0.002, 0.098), 1.0),  # held all the time, and passed on every 5 ms
        ((600, 600, 0.09, 0.01), 1.0),  # given up for a moment all the time: most of it falls into sleeps
        ((10, 1, 0.001, 0.00095), 0.54),  # held for 1 ms of every 2
        ((0, 0, 0.0, 0.0), 1.0),  # never got it
    ],
)
def test_what_the_sleeps_of_the_probe_miss_is_told_by_the_moments_at_their_ends(taken, part):
    assert held_part(*taken) == pytest.approx(part, abs=0.01)


def tensors(num):
    for _ in range(10 * num):
        torch.tensor(list(range(500)))
    return num


def test_a_lock_that_is_given_up_for_a_moment_all_the_time_is_held():
    assert measure_gil_share(tensors).share > 0.8


def spin(num):
    until = time.perf_counter() + 0.01 * num
    while time.perf_counter() < until:
        pass
    return num


def sleep(num):
    time.sleep(0.01 * num)
    return num


def test_samples_that_are_too_heavy_to_be_made_together_are_counted_as_they_are_made():
    made = []

    def one(_):
        made.append(1)
        time.sleep(0.02)
        return 1

    measured = measure_gil_share(one)
    assert measured.sample_s == pytest.approx(0.02, rel=0.5)
    assert len(made) < 10


def test_spinning_holds_the_lock_and_sleeping_does_not():
    spinning = measure_gil_share(spin)
    sleeping = measure_gil_share(sleep)
    assert 0 <= sleeping.share < spinning.share <= 1
    assert sleeping.sample_s > 0.009
    assert sleeping.busy < 0.1


def test_what_a_sample_raises_comes_out_and_the_ticker_ends():
    def fail(num):
        if num > 1:
            raise KeyError
        return num

    with pytest.raises(KeyError):
        measure_gil_share(fail)


def test_a_timeout_goes_to_processes_which_can_be_ended():
    chosen = choice(has_timeout=True, measured={"sample_s": 0.0})
    assert chosen.kind == "processes"
    assert "timeout= is set" in chosen.reason
    assert choice("threads", has_timeout=True).kind == "threads"
    assert choice(has_timeout=True, num_workers=0).kind == "caller"


def test_where_there_can_be_no_processes_the_caller_works_or_one_thread_where_there_is_a_timeout():
    chosen = choice()
    alone = without_processes(chosen, "it has a lock", has_timeout=False)
    assert (alone.kind, alone.workers.num_workers) == ("caller", 0)
    leavable = without_processes(chosen, "it has a lock", has_timeout=True)
    assert (leavable.kind, leavable.workers.num_workers) == ("threads", 1)
    assert all("it has a lock" in one.reason and chosen.reason in one.reason for one in (alone, leavable))
