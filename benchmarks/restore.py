"""What resuming costs the order at step 10 and at step 10^7 of 10^9 samples, and how large a state is.

From the text of a state to the first batch after it. Usage: `python -m benchmarks.restore`.
"""

from __future__ import annotations

import argparse
import json
import time

from benchmarks import results
from benchmarks.order import MODES, spec
from headrace.contracts import Shuffle
from headrace.order import OrderSpec, OrderState, check_compatible, open_epoch, state_at

BATCH_SIZE = 64
EARLY, LATE = 10, 10_000_000
NUM_ROUNDS = 25
FINGERPRINT = "0123456789abcdef0123456789abcdef"


def saved(one: OrderSpec, step: int) -> str:
    """The state after some steps, as text."""
    state = state_at(open_epoch(one, 3), step, fingerprint=FINGERPRINT, tail=None)
    return json.dumps(state.to_dict())


def restore_ms(one: OrderSpec, text: str) -> float:
    """Milliseconds of the processor from a text to a batch."""
    began = time.process_time()
    state = OrderState.from_dict(json.loads(text))
    check_compatible(state, state_at(open_epoch(one, 0), 0, fingerprint=FINGERPRINT, tail=None))
    open_epoch(one, state.epoch, state.samples_delivered).step(0)
    return (time.process_time() - began) * 1e3


def measure(shuffle: Shuffle, nodes: int, num_rounds: int) -> dict[str, float]:
    """Figures of one mode: the shortest of interleaved rounds."""
    one = spec(shuffle, nodes, batch_size=BATCH_SIZE, world_size=1)
    texts = saved(one, EARLY), saved(one, LATE)
    rounds = [[restore_ms(one, text) for text in texts] for _ in range(num_rounds)]
    early_ms, late_ms = (min(times) for times in zip(*rounds, strict=True))
    return {
        "step_10_ms": early_ms,
        "step_10m_ms": late_ms,
        "ratio": late_ms / early_ms,
        "state_bytes": len(texts[1]),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    args = parser.parse_args()
    num_rounds = 5 if args.quick else NUM_ROUNDS
    figures = {name: measure(*mode, num_rounds) for name, mode in MODES.items()}
    worst = {name: max(one[name] for one in figures.values()) for name in ("step_10_ms", "step_10m_ms", "state_bytes")}
    slowest = max(figures.values(), key=lambda one: one["step_10m_ms"])
    results.save("restore", {**worst, "ratio": slowest["ratio"], "modes": figures}, quick=args.quick)


if __name__ == "__main__":
    main()
