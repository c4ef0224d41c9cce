import time

import pytest

from headrace.loader.engine_choice import PythonPart, choose_engine
from headrace.loader.gil_share import GilShare, measure_gil_share


def choice(asked="auto", *, num_workers=2, batch_size=64, native=False, num_samples=10**6, **python):
    measured = {"sample_s": 1e-3, "share": 1.0} | python.pop("measured", {})
    part = PythonPart(
        **({"starts_workers": False, "draws_globally": None} | python),
        measured=GilShare(**measured),
        num_samples=num_samples,
    )
    return choose_engine(asked, num_workers=num_workers, batch_size=batch_size, python=None if native else part)


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
        ({"measured": {"sample_s": 1e-5}}, "threads"),
        ({"num_samples": 4000}, "threads"),
    ],
)
def test_the_share_the_batch_and_the_epoch_decide(change, kind):
    assert choice(**change).kind == kind


@pytest.mark.parametrize("python", [{"starts_workers": True}, {"draws_globally": "ColorJitter"}])
def test_what_only_a_process_can_do(python):
    assert choice(num_samples=1, **python).kind == "processes"


def test_samples_that_cannot_be_made_stay_where_their_error_is_seen():
    part = PythonPart(starts_workers=False, draws_globally=None, measured=None, num_samples=1)
    assert choose_engine("auto", num_workers=2, batch_size=1, python=part).kind == "threads"


def spin(num):
    until = time.perf_counter() + 0.01 * num
    while time.perf_counter() < until:
        pass


def test_spinning_holds_the_lock_and_sleeping_does_not():
    spinning = measure_gil_share(spin)
    sleeping = measure_gil_share(lambda num: time.sleep(0.01 * num))
    assert 0 <= sleeping.share < spinning.share <= 1
    assert sleeping.sample_s > 0.009


def test_what_a_sample_raises_comes_out_and_the_ticker_ends():
    def fail(num):
        if num > 1:
            raise KeyError

    with pytest.raises(KeyError):
        measure_gil_share(fail)
