from hypothesis import given
from hypothesis import strategies as st

from headrace.engine.processes.carried_errors import CarriedError
from headrace.engine.processes.messages import Failed, Inbox, framed


def failed(position, text):
    return Failed(1, position, "run", CarriedError([], text), [])


@given(st.lists(st.text(max_size=300), max_size=8), st.lists(st.integers(1, 60), min_size=1))
def test_messages_come_out_whole_however_the_bytes_arrive(texts, cuts):
    data = b"".join(framed(failed(position, text)) for position, text in enumerate(texts))
    inbox, came, start = Inbox(), [], 0
    while start < len(data):
        end = start + cuts[len(came) % len(cuts)]
        came += inbox.feed(data[start:end])
        start = end
    assert [(message.position, message.error.text) for message in came] == list(enumerate(texts))
