"""Files that lie side by side and share a name: `a.jpg`, `a.txt`, `a.json` are one sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headrace.errors import SourceError
from headrace.pack.catalog import CatalogBuilder
from headrace.pack.folders import FileEntry, Folder, walk
from headrace.pack.keys import REPLACE_REMEDY, join, refuse_repeats, split_first
from headrace.pack.options import PackOptions, SourceKind
from headrace.pack.source import Scan


class SiblingSource:
    """Each file is a field; names are grouped as shards group them, at the first dot of the base name."""

    kind: SourceKind = "siblings"

    def scan(self, path: str, options: PackOptions, on_found: Callable[[int], None]) -> Scan:
        """Lists the samples folder by folder, sorted by key."""
        root = str(Path(path).absolute())
        folders = walk(root)
        builder = CatalogBuilder(root)
        num_ignored = 0
        for folder in folders:
            num_ignored += folder.num_hidden + add_samples(builder, folder, options)
            on_found(len(builder.keys))
        if not builder.keys:
            raise SourceError(
                "no files to pack in the source", path=root, accepted="files with an extension, as a.jpg a.txt a.json"
            )
        refuse_repeats(builder.keys, "Rename one of the files.")
        return Scan(catalog=builder.build(), num_ignored=num_ignored, notes=missing_notes(builder))


def add_samples(builder: CatalogBuilder, folder: Folder, options: PackOptions) -> int:
    """Adds the samples of one folder; returns the number of files that are none."""
    groups: dict[str, dict[str, FileEntry]] = {}
    num_ignored = 0
    for file in folder.files:
        parts = split_first(file.name, options.dots)
        if parts is None or (parts[0].startswith("__") and parts[0].endswith("__")):
            num_ignored += 1
            continue
        stem, field = parts
        if options.dots == "refuse" and field.partition(".")[0].isdigit() and "." in field:
            raise SourceError(
                f"a dot inside of a name: field {field!r} of sample {stem!r} is surely not meant",
                path=f"{builder.root}/{join(folder.path, file.name)}",
                remedy=REPLACE_REMEDY,
            )
        fields = groups.setdefault(stem, {})
        if field in fields:
            raise SourceError(
                "two files for one field, which differ in case or dots only",
                got=f"{fields[field].name!r} and {file.name!r}",
                path=f"{builder.root}/{folder.path}",
                remedy="Rename or remove one of them.",
            )
        fields[field] = file
    for stem in sorted(groups):
        for field in sorted(groups[stem]):
            file = groups[stem][field]
            builder.add_file(field, join(folder.path, file.name), file.size_bytes, file.mtime_ns)
        builder.end_sample(join(folder.path, stem))
    return num_ignored


def missing_notes(builder: CatalogBuilder) -> tuple[str, ...]:
    """Warns of fields that only some samples have."""
    counts = [0] * len(builder.field_of)
    for field_id in builder.field_ids:
        counts[field_id] += 1
    total = len(builder.keys)
    partial = [f"{name} ({counts[row]})" for name, row in builder.field_of.items() if counts[row] < total]
    if not partial:
        return ()
    return (f"fields that only some of the {total} samples have: {', '.join(sorted(partial)[:10])}",)
