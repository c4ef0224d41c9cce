"""What a rank will read soon: the windows that come into sight with a step, so that storage can be asked early."""

from __future__ import annotations

from headrace.order.line import Stretches
from headrace.order.partition import Partition
from headrace.order.shares import Shares
from headrace.order.spec import OrderSpec


class Lookout:
    """Looks one window ahead in one epoch of window mode, for one rank. A value; safe from any thread.

    Args:
        spec: The order.
        epoch: Epoch.
        rank: Whose steps are looked at.
        start: Samples of the epoch that were delivered before batch 0, as in `open_epoch`.
        first: The batch that is made first; what lies before it was never in sight.
    """

    def __init__(self, spec: OrderSpec, epoch: int, rank: int, start: int = 0, first: int = 0) -> None:
        self._spec = spec
        self._partition = Partition(
            num_samples=spec.num_samples, num_nodes=spec.canonical_nodes, global_batch=spec.global_batch, start=start
        )
        self._first_step = first // spec.accumulate
        self._shares = Shares(spec.layout, self._partition, spec.least_window_samples, spec.seed, epoch)
        spans = self._partition.spans(rank * spec.rank_rows, (rank + 1) * spec.rank_rows)
        self._nodes = sorted({span.node for span in spans})

    def ahead(self, index: int) -> list[Stretches]:
        """The stretches of windows that come into sight with batch `index`: two at the start, then one at a time."""
        step, part = divmod(index, self._spec.accumulate)
        if part and step != self._first_step:
            return []
        return [
            self._shares.share(node).window(window)
            for node in self._nodes
            for window in range(self._passed(node, step), self._seen(node, step))
        ]

    def _passed(self, node: int, step: int) -> int:
        """Windows of a node that need not be asked for with a step: those before it, or seen with the one before."""
        if step > self._first_step:
            return self._seen(node, step - 1)
        begin, end = self._partition.bounds(node)
        position = min(self._partition.first_position(step), end - begin - 1)
        return self._shares.share(node).windows.number(position) if position >= 0 else 0

    def _seen(self, node: int, step: int) -> int:
        """Windows of a node in sight when a step is made: those begun, and the one after them."""
        begin, end = self._partition.bounds(node)
        position = min(self._partition.first_position(step + 1), end - begin) - 1
        if position < 0:
            return 0
        windows = self._shares.share(node).windows
        return min(windows.number(position) + 2, windows.num)
