"""Images told apart and recognised again, in other processes too."""

from __future__ import annotations

import hashlib


def fingerprints(images):
    """One for each row of a tensor, or each tensor of a list; equal where values and shapes are, to the bit."""
    return [hashlib.sha256(str(image.shape).encode() + image.numpy().tobytes()).hexdigest()[:16] for image in images]
