"""The state of streams: what is written is read, what is damaged or of another run is refused by name."""

from dataclasses import replace

import pytest

from headrace.errors import OrderError
from headrace.order import StreamPlace, StreamsState

STATE = StreamsState(
    fingerprint="f",
    seed=3,
    world_size=2,
    rank=1,
    num_streams=2,
    batch_size=4,
    drop_last=False,
    epoch=5,
    batches_delivered=4,
    turn=1,
    padding=1,
    streams=(
        StreamPlace(batches=2, samples=8, dataset={"files": ["a"], "at": 3}),
        StreamPlace(batches=1, samples=1, ended=True),
    ),
)


def test_what_is_written_is_read():
    assert StreamsState.from_dict(STATE.to_dict()) == STATE
    beginning = replace(STATE, batches_delivered=0, padding=0, streams=())
    assert StreamsState.from_dict(beginning.to_dict()) == beginning


@pytest.mark.parametrize(
    "name", ["fingerprint", "seed", "world_size", "rank", "num_streams", "batch_size", "drop_last"]
)
def test_another_run_is_refused_by_name(name):
    other = {"fingerprint": "g", "drop_last": True}.get(name, 7)
    with pytest.raises(OrderError, match=f"{name} differs"):
        STATE.check_same_run(replace(STATE, **{name: other}))
    STATE.check_same_run(replace(STATE, epoch=0, batches_delivered=0, turn=0, streams=()))


DAMAGES = {
    "streams": [
        None,
        [3],
        [{}],
        [],
        STATE.to_dict()["streams"][:1],
        [{**STATE.to_dict()["streams"][0], "ended": 1}] * 2,
    ],
    "turn": [2, -1],
    "batches_delivered": [3, 5, "4"],
    "num_streams": [0, 3],
    "drop_last": [0, None],
    "padding": [0],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGES.items() for value in values])
def test_damage_is_refused(name, value):
    with pytest.raises(OrderError, match="damaged"):
        StreamsState.from_dict(STATE.to_dict() | {name: value})
