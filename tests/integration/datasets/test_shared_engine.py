"""Lists in the processes of our own engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace import SharedDict, SharedList
from headrace.datasets.shared import pack_attributes
from headrace.engine import ByteBudget, ProcessEngine, Stats
from headrace.testing.step_works import STEP_BYTES, StepSource


def test_lists_dicts_and_packed_attributes_reach_the_workers():
    @dataclass
    class Label:
        number: int

    class Plain:
        def __init__(self):
            self.names = [f"{number:06d}" for number in range(40_000)]

    class Work:
        def __init__(self):
            self.paths = SharedList(f"{number}.jpg" for number in range(100))
            self.labels = SharedList(Label(number) for number in range(100))
            self.sizes = SharedDict({path: len(path) for path in self.paths})
            self.images = SharedList(np.full(3, number) for number in range(100))
            self.packed = pack_attributes(Plain()).dataset

        def size_bytes(self, step):
            return STEP_BYTES

        def fetch(self, step, allocate):
            return None

        def run(self, step, fetched, allocate):
            row = int(step.ids[0])
            path = self.paths[row]
            is_label = isinstance(self.labels[row], Label)
            return path, self.labels[row].number, is_label, self.sizes[path], self.images[row], self.packed.names[row]

    engine = ProcessEngine(Work(), num_workers=2, budget=ByteBudget(64 * STEP_BYTES), recorder=Stats(), preload=())
    try:
        batches = [delivered.batch for delivered in engine.run(StepSource(8))]
    finally:
        engine.close()
    for number, (path, label, is_label, size, image, name) in enumerate(batches):
        row = 4 * number
        assert (path, label, is_label, size, name) == (f"{row}.jpg", row, True, len(path), f"{row:06d}")
        assert image.tolist() == [row] * 3
