"""What a stream begins with, as a hash: streams that begin alike are likely to be the same."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import xxhash

from headrace.engine.processes.parcels import pickled

LOOKED_AT = 8
"""Samples that are looked at: one alone may well be the same in two streams, such as a header or a label."""


class Beginning:
    """Looks at the first samples that come by."""

    def __init__(self) -> None:
        self.hash = xxhash.xxh3_128()
        self.num_seen = 0
        self.is_over = False

    def see(self, samples: Sequence[Any], *, ended: bool) -> str | None:
        """Looks at the next samples of the stream.

        Returns:
            The hash, once, when enough was seen or the stream has ended; None before and after, where samples cannot
            be pickled, and for a stream without samples.
        """
        if self.is_over:
            return None
        try:
            for sample in samples[: LOOKED_AT - self.num_seen]:
                self._add(sample)
        except Exception:  # noqa: BLE001 - whatever a sample is made of, it is not for us to refuse it
            self.is_over = True
            return None
        self.is_over = ended or self.num_seen == LOOKED_AT
        return self.hash.hexdigest() if self.is_over and self.num_seen else None

    def _add(self, sample: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.hash.update(pickled(sample, buffers.append))
        for buffer in buffers:
            self.hash.update(buffer.raw())
        self.num_seen += 1
