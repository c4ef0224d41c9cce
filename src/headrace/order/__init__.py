"""Which sample comes when, on which rank: a pure function of dataset, seed, epoch and topology."""

from headrace.order.epoch import EpochOrder, open_epoch
from headrace.order.fingerprint import fingerprint
from headrace.order.line import Stretches
from headrace.order.lookout import Lookout
from headrace.order.sampled_state import SampledState
from headrace.order.spec import OrderSpec, default_canonical_nodes
from headrace.order.state import OnBatchChange, OrderState, check_compatible, state_at
from headrace.order.stream_state import StreamPlace, StreamsState
from headrace.order.topology import Topology

__all__ = [
    "EpochOrder",
    "Lookout",
    "OnBatchChange",
    "OrderSpec",
    "OrderState",
    "SampledState",
    "StreamPlace",
    "StreamsState",
    "Stretches",
    "Topology",
    "check_compatible",
    "default_canonical_nodes",
    "fingerprint",
    "open_epoch",
    "state_at",
]
