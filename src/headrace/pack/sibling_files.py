"""Files that lie side by side and share a name: `a.jpg`, `a.txt`, `a.json` are one sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headrace.errors import SourceError
from headrace.pack.catalog import CatalogBuilder
from headrace.pack.keys import refuse_repeats
from headrace.pack.options import PackOptions
from headrace.pack.source import Scan
from headrace.sources.folders import FileEntry, Folder, look, walk
from headrace.sources.kinds import SourceKind
from headrace.sources.names import join
from headrace.sources.siblings import group_siblings


class SiblingSource:
    """Each file is a field; names are grouped as shards group them, at the first dot of the base name."""

    kind: SourceKind = "siblings"

    def scan(self, path: str, options: PackOptions, on_found: Callable[[int], None]) -> Scan:
        """Lists the samples folder by folder, sorted by key."""
        root = str(Path(path).absolute())
        folders = walk(root, look)
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


def add_samples(builder: CatalogBuilder, folder: Folder[FileEntry], options: PackOptions) -> int:
    """Adds the samples of one folder; returns the number of files that are none."""
    place = join(builder.root, folder.path) if folder.path else builder.root
    siblings = group_siblings([file.name for file in folder.files], place, options.dots)
    for stem, fields in siblings.samples.items():
        for field, number in fields.items():
            file = folder.files[number]
            builder.add_file(field, join(folder.path, file.name), file.size_bytes, file.mtime_ns)
        builder.end_sample(join(folder.path, stem))
    return siblings.num_ignored


def missing_notes(builder: CatalogBuilder) -> tuple[str, ...]:
    """Warns of fields that only some samples have."""
    counts = [0] * len(builder.field_of)
    for field_id in builder.field_ids:
        counts[field_id] += 1
    total = len(builder.keys)
    partial = [f"{name} ({counts[row]})" for name, row in builder.field_of.items() if counts[row] < total]
    if not partial:
        return ()
    return (f"fields that only some of the {total:,} samples have: {', '.join(sorted(partial)[:10])}",)
