import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.engine.histogram import NUM_BUCKETS, SHORTEST_S, middle_of, quantile
from headrace.engine.meters import DurationMeter

durations = st.lists(st.floats(min_value=SHORTEST_S, max_value=5000.0), min_size=1, max_size=200)


@given(durations, st.sampled_from([0.0, 0.1, 0.5, 0.95, 0.99, 1.0]))
def test_quantiles_are_those_of_numpy_to_five_percent(values, share):
    meter = DurationMeter()
    for value in values:
        meter.add(value)
    exact = np.quantile(values, share, method="inverted_cdf")
    assert abs(quantile(meter.buckets, share) / exact - 1) < 0.046


@given(durations, durations)
def test_merged_meters_are_one_meter_of_all(first, second):
    one, other, both = DurationMeter(), DurationMeter(), DurationMeter()
    for meter, values in ((one, first), (other, second), (both, first + second)):
        for value in values:
            meter.add(value)
    one.merge(other)
    assert one.buckets == both.buckets
    assert (one.num, one.max_s) == (both.num, both.max_s)
    assert np.isclose(one.total_s, both.total_s)


def test_middles_grow_and_no_event_has_no_quantile():
    middles = [middle_of(bucket) for bucket in range(NUM_BUCKETS)]
    assert middles == sorted(set(middles))
    assert quantile([0] * NUM_BUCKETS, 0.5) == 0.0
