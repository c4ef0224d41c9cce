"""Random torchvision transforms that draw from the sample's counters instead of torch's global generator.

The kernel draws the parameters of the ops that it knows from (sample key, position of the op). Wherever such an op
runs in Python instead, its twin from here draws the same numbers, so that fused and unfused runs crop and flip alike.
Some transforms that the kernel does not know have twins too: their draws follow the sample in every engine.
"""

from __future__ import annotations

from typing import Any

from headrace.recipes.op import torchvision_name

RANDOM_NAMES = frozenset(
    {
        "RandomCrop",
        "RandomHorizontalFlip",
        "RandomIoUCrop",
        "RandomResizedCrop",
        "RandomShortestSize",
        "RandomZoomOut",
        "ScaleJitter",
    }
)


def counted(call: Any, position: int) -> Any:
    """The twin of a random transform, where there is one; anything else comes back as it is.

    Args:
        call: The transform.
        position: Its place in the flat list of transforms, the `op` of its draws.
    """
    known = torchvision_name(call)
    if known is None or known.name not in RANDOM_NAMES:
        return call
    # torchvision is optional and slow to import; here the user has imported it already
    if known.family == "v2":
        from headrace.recipes.counted_v2 import twin_v2

        return twin_v2(known.name, call, position)
    from headrace.recipes.counted_v1 import twin_v1

    return twin_v1(known.name, call, position)
