"""A folder of folders of images: each folder a class, as torchvision's ImageFolder reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from headrace.pack.catalog import CatalogBuilder
from headrace.pack.keys import refuse_dots, refuse_repeats
from headrace.pack.options import PackOptions
from headrace.pack.source import Scan
from headrace.sources.class_folders import check_classes, class_by_class, class_names_of, class_of
from headrace.sources.folders import IMAGE_EXTENSIONS, FileEntry, Folder, look, walk
from headrace.sources.kinds import SourceKind
from headrace.sources.names import join, split_last

SPLIT_NAMES = frozenset({"train", "training", "val", "valid", "validation", "test", "testing", "dev"})


class ImageFolderSource:
    """Labels are the positions of the class folders in sorted order, written as field `cls`."""

    kind: SourceKind = "image-folder"

    def scan(self, path: str, options: PackOptions, on_found: Callable[[int], None]) -> Scan:
        """Lists the images class by class, each class in the order of torchvision's ImageFolder."""
        root = str(Path(path).absolute())
        folders = walk(root, look)
        class_names = class_names_of(folders)
        builder = CatalogBuilder(root)
        labels = {name: label for label, name in enumerate(class_names)}
        num_ignored = sum(folder.num_hidden for folder in folders)
        num_ignored += sum(len(folder.files) for folder in folders if not folder.path)
        empty = set(class_names)
        for folder in class_by_class(folders):
            num_added = add_images(builder, folder, labels[class_of(folder)], options)
            num_ignored += len(folder.files) - num_added
            if num_added:
                empty.discard(class_of(folder))
                on_found(len(builder.keys))
        check(builder, root, empty, options)
        return Scan(
            catalog=builder.build(),
            class_names=class_names,
            num_ignored=num_ignored,
            notes=split_notes(class_names),
        )


def add_images(builder: CatalogBuilder, folder: Folder[FileEntry], label: int, options: PackOptions) -> int:
    """Adds the images of one folder; returns their number."""
    num_before, label_bytes = len(builder.keys), str(label).encode()
    for file in folder.files:
        parts = split_last(file.name, options.dots)
        if parts is not None and parts[1] in IMAGE_EXTENSIONS:
            builder.add_file(parts[1], join(folder.path, file.name), file.size_bytes, file.mtime_ns)
            builder.add_bytes("cls", label_bytes)
            builder.end_sample(join(folder.path, parts[0]))
    return len(builder.keys) - num_before


def check(builder: CatalogBuilder, root: str, empty: set[str], options: PackOptions) -> None:
    """Refuses a tree without images, classes without images, and keys that would not come back."""
    check_classes(len(builder.keys), empty, root)
    if options.dots == "refuse":
        refuse_dots(builder.keys)
    refuse_repeats(builder.keys, "Two files differ in extension or dots only: rename one of them.")


def split_notes(class_names: Sequence[str]) -> tuple[str, ...]:
    """Warns where the classes look like the splits of a dataset."""
    if class_names and all(name.lower() in SPLIT_NAMES for name in class_names):
        return (f"the classes are {', '.join(class_names)}: if these are splits, pack each folder on its own",)
    return ()
