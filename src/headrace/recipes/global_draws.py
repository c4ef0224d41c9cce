"""Which of torchvision's operations draw from torch's global generator."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.recipes.op import Op, torchvision_name

RANDOM_NAMES = frozenset(
    {
        "AugMix",
        "AutoAugment",
        "ColorJitter",
        "ElasticTransform",
        "GaussianBlur",
        "GaussianNoise",
        "JPEG",
        "RandAugment",
        "ScaleJitter",
        "TrivialAugmentWide",
    }
)
"""Random operations whose name does not begin with "Random" (torchvision 0.21 to 0.29, v1 and v2)."""


def global_draw(ops: Sequence[Op]) -> str | None:
    """The name of the first operation that draws globally; those that draw from the sample's counters do not."""
    for op in ops:
        known = torchvision_name(op.call)
        if known is not None and op.run is op.call and (known.name.startswith("Random") or known.name in RANDOM_NAMES):
            return known.name
    return None
