"""Arrays leased, viewed, kept and dropped in any order never share memory, and free memory stays within its bound."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.engine import SlotPool


class Slots(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.slots = SlotPool(max_free_bytes=300_000)
        self.kept = {}
        self.number = 0

    @rule(size_bytes=st.integers(1, 60_000), dtype=st.sampled_from(["u1", "u2", "u4"]), num_at_once=st.integers(0, 4))
    def lease(self, size_bytes, dtype, num_at_once):
        array = self.slots.allocate((size_bytes,), dtype, num_at_once=num_at_once)
        self.number = (self.number + 1) % 251
        array.fill(self.number)
        self.kept[len(self.kept), size_bytes] = (array, self.number, array.base is not None)

    @rule(which=st.integers(0, 1000), start=st.integers(0, 100))
    def keep_only_a_view(self, which, start):
        if self.kept:
            key = list(self.kept)[which % len(self.kept)]
            array, number, is_leased = self.kept[key]
            self.kept[key] = (array[start:], number, is_leased)

    @rule(which=st.integers(0, 1000))
    def drop(self, which):
        if self.kept:
            del self.kept[list(self.kept)[which % len(self.kept)]]

    @rule()
    def trim(self):
        self.slots.trim()
        assert self.slots.free_bytes == 0

    @invariant()
    def nobody_wrote_into_kept_memory(self):
        for array, number, _ in self.kept.values():
            assert (array == number).all()

    @invariant()
    def books_are_right(self):
        blocks = [block for ring in self.slots.rings.values() for block in ring.free]
        assert self.slots.free_bytes == sum(block.class_bytes for block in blocks)
        assert len({block.address for block in blocks}) == len(blocks)
        num_leased = sum(is_leased for _, _, is_leased in self.kept.values())
        num_blocks = sum(ring.num_blocks for ring in self.slots.rings.values())
        assert num_blocks == len(blocks) + len(self.slots.returned) + num_leased
        addresses = {array.__array_interface__["data"][0] for array, _, _ in self.kept.values() if array.size}
        inside = [a for a in addresses for b in blocks if b.address <= a < b.address + b.class_bytes]
        assert not inside


def test_bound_after_a_flood():
    slots = SlotPool(max_free_bytes=300_000)
    kept = [slots.allocate((50_000,), np.uint8) for _ in range(40)]
    kept.clear()
    slots.allocate((4096,), np.uint8)
    assert slots.free_bytes <= 300_000


TestSlots = Slots.TestCase
TestSlots.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
