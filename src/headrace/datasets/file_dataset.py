"""Loose files as a map-style dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace._base.units import count
from headrace.contracts import ImageLimits, Missing
from headrace.datasets.class_names import names_of_labels, with_classes
from headrace.datasets.fields import FieldsArgument
from headrace.datasets.file_source import FileSource
from headrace.datasets.files.leaves import leaves_of
from headrace.datasets.files.open_table import FileKind, open_table
from headrace.datasets.files.probe import probe
from headrace.datasets.files.wanted import Wanted, columns_of, names_in
from headrace.datasets.shared.share import Per
from headrace.datasets.source_dataset import SourceDataset, check_policies


class FileDataset(SourceDataset):
    """The samples of loose files: a folder of class folders, files side by side, or a list of files.

    It works with any loader that takes map-style datasets; `headrace.DataLoader` reads and decodes it by the batch.
    Names, labels and values lie in memory that all worker processes, and all ranks of a node, share.

    Args:
        source: A folder of class folders (fields `image` and `label`), a folder of files side by side (`a.jpg a.json
            a.seg.png`: a field for each ending), a CSV, TSV, JSONL or Parquet list, or rows at hand as mappings (a
            field for each column).
        fields: The shape of a sample, as in `ShardDataset`. A field is a column, the extensions of files (`jpg;png`),
            or `cls` for class numbers, so that packing the source into shards leaves `fields` as it is. None: a dict
            of all columns.
        transform: A torchvision transform (v1: of the image; v2 or any callable: of the whole sample), or a dict of
            callables by field.
        missing: What happens where a sample lacks a field, or a list names a file that is not there: "raise", "skip"
            (the row repeats a good one and is marked), "none" (None in its place).
        kind: "image-folder", "siblings" or "list"; "auto": found out.
        root: Folder that the paths of a list are relative to; None: that of the list, or the working directory.
        paths: Columns of a list that hold paths; None: the first of the usual names (`path`, `image`, `file`, ...).
        labels: Column of a list that holds class names or numbers; None: the first of the usual names (`label`,
            `cls`, `class`, ...), "": none.
        allow_pickle: Extensions whose decoding may run code, such as ("pkl",).
        limits: Limits that images are checked against before memory is taken.
        per: Who shares the names: "node", "process", or "auto", as in `SharedList`. With a launcher that has started
            several ranks here, one of them looks through the source and the others wait.

    Raises:
        SourceError: No such source, no files in it, or a list that contradicts itself; names file and line.
        StorageError: A folder or list cannot be read.
        OptionError: `fields` names what the source does not have.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
        *,
        fields: FieldsArgument = None,
        transform: Any = None,
        missing: Missing = "raise",
        kind: FileKind = "auto",
        root: str | os.PathLike[str] | None = None,
        paths: str | Sequence[str] | None = None,
        labels: str | None = None,
        allow_pickle: Sequence[str] = (),
        limits: ImageLimits | None = None,
        per: Per = "auto",
    ) -> None:
        check_policies(missing, "raise")
        wanted = Wanted(
            fields=names_in(fields),
            root=os.fspath(root) if root is not None else None,
            paths=columns_of(paths),
            labels=labels,
        )
        self.table = open_table(source, kind, wanted, per)
        shape, leaves = leaves_of(fields, self.table.facts)
        shape = with_classes(shape, self.table.facts.classes)
        self.classes = names_of_labels(shape, self.table.facts.classes)
        """Class names in the order of their labels: those that the label field is given, otherwise those of the source;
        None where neither has any."""
        files = FileSource(self.table, leaves)
        probe(files, missing)
        super().__init__(
            files,
            shape,
            transform=transform,
            missing=missing,
            on_error="raise",
            allow_pickle=allow_pickle,
            limits=limits,
        )

    def __repr__(self) -> str:
        """How much of what."""
        names = ", ".join(entry.name for entry in self.shape.entries)
        return f"FileDataset({count(len(self), 'sample')}, {self.table.facts.kind}, fields {names})"
