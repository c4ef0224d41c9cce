"""Every engine keeps the contract."""

import itertools
from functools import partial

import pytest

from headrace.contracts import Engine, StepWork
from headrace.engine import ByteBudget, InlineEngine, ProcessEngine, SlotPool, Stats, ThreadEngine
from headrace.testing.engine_contract import CHECKS, EngineKit


def make_threads(work: StepWork, *, limit_bytes: int, max_in_flight: int | None, prompt=(False,)) -> Engine:
    return ThreadEngine(
        work,
        num_workers=2,
        num_io_threads=3,
        budget=ByteBudget(limit_bytes),
        slots=SlotPool(),
        recorder=Stats(),
        max_in_flight=max_in_flight,
        is_prompt=itertools.cycle(prompt).__next__,
    )


def make_inline(work: StepWork, *, limit_bytes: int, max_in_flight: int | None) -> Engine:
    return InlineEngine(work, slots=SlotPool(), recorder=Stats())


def make_processes(work: StepWork, *, limit_bytes: int, max_in_flight: int | None) -> Engine:
    return ProcessEngine(
        work,
        num_workers=2,
        budget=ByteBudget(limit_bytes),
        recorder=Stats(),
        max_in_flight=max_in_flight,
        preload=(),
    )


KITS = {
    "threads": EngineKit(make=make_threads),
    "threads that fetch": EngineKit(make=partial(make_threads, prompt=(True,))),
    "threads that fetch at times": EngineKit(make=partial(make_threads, prompt=(True, False, False, True, True))),
    "inline": EngineKit(make=make_inline, looks_ahead=False),
    "processes": EngineKit(make=make_processes, keeps_processes=True),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("engine", KITS)
def test_contract(engine, check):
    check(KITS[engine])
