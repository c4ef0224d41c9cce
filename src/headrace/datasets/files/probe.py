"""A look at a few files of a list, so that a wrong root is told at once and not in the middle of training."""

from __future__ import annotations

import os

import numpy as np

from headrace.contracts import Missing
from headrace.datasets.file_source import FileSource
from headrace.datasets.files.leaves import FileLeaf
from headrace.errors import SourceError
from headrace.sources.names import shown

NUM_PROBED = 16
"""Rows that are looked at, evenly over the list: a fraction of a second even on a slow network file system."""


def probe(source: FileSource, missing: Missing) -> None:
    """Looks whether a few files of a list are there; the others are looked at when they are read.

    Raises:
        SourceError: One is not, or with another policy than "raise" none is.
    """
    table = source.table
    if not table.facts.may_lack:
        return
    rows = np.unique(np.linspace(0, len(table) - 1, NUM_PROBED, dtype=np.int64))
    for leaf in source.leaves:
        if not isinstance(leaf, FileLeaf):
            continue
        paths = list(map(os.fsdecode, source.choose(leaf, rows).paths))
        lost = [path for path in paths if not os.path.exists(path)]  # noqa: PTH110 - text, once
        if lost and (missing == "raise" or len(lost) == len(paths)):
            raise SourceError(
                f"{len(lost)} of {len(paths)} files of the list that were looked for are not there",
                got=shown(lost),
                root=table.facts.root,
                field=leaf.name,
                remedy='Paths are relative to the folder of the list, unless root= says otherwise; missing="skip" '
                "leaves out the samples whose files are not there.",
            )
