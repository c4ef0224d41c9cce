"""Runs the work of steps: memory, threads, order of delivery, statistics. Knows neither shards nor transforms."""

from headrace._native import LockProbe, Pool
from headrace.engine.budget import ByteBudget
from headrace.engine.inline import InlineEngine
from headrace.engine.native_pools import shared_native_pool
from headrace.engine.pauses import Pauses
from headrace.engine.processes import ProcessEngine
from headrace.engine.shared import SHARED_BUDGET, SHARED_SLOTS
from headrace.engine.slots import SlotPool
from headrace.engine.snapshot import DurationStats, QueueStats, StageStats, StatsSnapshot
from headrace.engine.stats import Stats
from headrace.engine.stream import StepStream
from headrace.engine.threads import ThreadEngine

__all__ = [
    "SHARED_BUDGET",
    "SHARED_SLOTS",
    "ByteBudget",
    "DurationStats",
    "InlineEngine",
    "LockProbe",
    "Pauses",
    "Pool",
    "ProcessEngine",
    "QueueStats",
    "SlotPool",
    "StageStats",
    "Stats",
    "StatsSnapshot",
    "StepStream",
    "ThreadEngine",
    "shared_native_pool",
]
