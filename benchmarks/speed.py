"""How fast images are made, and what processor time that takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Of one run."""

    images_per_s: float
    cpu_s_per_image: float
    """Processor time of all threads of the process: what others do on the machine hardly changes it."""


def speed_of(run: Callable[[], object], num_images: int) -> Speed:
    """The speed of a run that makes this many images."""
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    run()
    cpu_s, elapsed_s = time.process_time() - cpu_began_s, time.perf_counter() - began_s
    return Speed(images_per_s=num_images / elapsed_s, cpu_s_per_image=cpu_s / num_images)
