"""Whether Python that makes samples may run in several threads at once, as far as a look at a few of them tells.

Nobody promises that of a dataset: torch's loader calls it in one thread of a process. What a dataset shares between its
samples shows in one of four ways: the dataset is another one after it has made some; it holds an open file; it holds
what belongs to one process, such as a database, and so cannot be pickled; or a global generator has moved.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from torch.utils.data import Dataset

MOST_PARTS = 1000
"""Datasets in a list that are copied one by one."""


def confined(outlines: Sequence[str | None], *, holds_files: bool, drew: bool) -> str | None:
    """Why samples must be made in one thread at a time; None where nothing speaks against several.

    Args:
        outlines: Of the dataset: before it made samples, in between, and afterwards; None where none can be made.
        holds_files: Whether a file is open in it, whose place all threads would move.
        drew: Whether a global generator has moved.
    """
    if drew:
        return "samples draw from global generators"
    if holds_files:
        return "the dataset holds an open file"
    if outlines[0] is not None and len(set(outlines)) > 1:
        return "the dataset changes while it makes samples"
    return None


def apart(dataset: Any) -> Any:
    """A copy whose attributes can be set without those of the dataset; datasets among them are copied likewise.

    What is opened on first use is opened in the copy, so that workers still find it closed.
    """
    if not hasattr(dataset, "__dict__"):
        return dataset
    try:
        twin = copy.copy(dataset)
        for name, value in list(vars(twin).items()):
            if isinstance(value, Dataset):
                vars(twin)[name] = apart(value)
            elif isinstance(value, list) and 0 < len(value) <= MOST_PARTS and isinstance(value[0], Dataset):
                vars(twin)[name] = [apart(part) for part in value]
    except Exception:  # noqa: BLE001 - whatever a class says that does not want to be copied
        return dataset
    return twin
