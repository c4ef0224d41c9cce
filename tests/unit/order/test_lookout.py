"""Looking ahead: every sample comes into sight once, before its window is begun, and not much earlier."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.contracts import Layout
from headrace.order import Lookout, OrderSpec, open_epoch


@given(
    samples=st.lists(st.integers(0, 40), min_size=1, max_size=12),
    window_samples=st.integers(1, 60),
    world_size=st.integers(1, 4),
    data=st.data(),
)
def test_every_sample_is_seen_before_it_is_read(samples, window_samples, world_size, data):
    batch_size = data.draw(st.integers(1, 7))
    nodes = data.draw(st.sampled_from([n for n in range(1, world_size + 1) if (batch_size * world_size) % n == 0]))
    spec = OrderSpec(
        layout=Layout(samples=np.array(samples), sizes=np.array(samples) * 10),
        batch_size=batch_size,
        world_size=world_size,
        canonical_nodes=nodes,
        shuffle="window",
        window_samples=window_samples,
        tail="pad",
    )
    order = open_epoch(spec, 3)
    for rank in range(world_size):
        lookout = Lookout(spec, 3, rank)
        seen: list[int] = []
        for index in range(order.num_steps):
            for first_ids, counts in lookout.ahead(index):
                for first, count in zip(first_ids.tolist(), counts.tolist(), strict=True):
                    seen += range(first, first + count)
            full = index < spec.num_samples // spec.global_batch
            if full:
                assert set(order.step(index, rank).ids.tolist()) <= set(seen)
        assert len(seen) == len(set(seen))


def test_two_windows_are_in_sight_at_the_start_and_one_more_with_each():
    spec = OrderSpec(
        layout=Layout(samples=np.full(10, 10), sizes=np.full(10, 100)),
        batch_size=5,
        shuffle="window",
        window_samples=20,
        tail="keep",
    )
    lookout = Lookout(spec, 0, 0)
    sizes = [sum(int(counts.sum()) for _, counts in lookout.ahead(index)) for index in range(20)]
    assert sizes == [40, 0, 0, 0, 20, 0, 0, 0, 20, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0]
