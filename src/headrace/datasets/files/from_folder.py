"""Tables of folders: a folder a class, or files side by side."""

from __future__ import annotations

import numpy as np

from headrace.datasets.files.builder import TableBuilder
from headrace.datasets.files.wanted import Wanted
from headrace.datasets.shared.packed import Packed
from headrace.errors import SourceError
from headrace.sources.class_folders import check_classes, class_by_class, class_names_of, class_of
from headrace.sources.folders import IMAGE_EXTENSIONS, name_of, walk
from headrace.sources.names import join
from headrace.sources.siblings import group_siblings

IMAGE = "image"
LABEL = "label"


def class_folders(root: str) -> Packed:
    """Images whose folders are their classes, in the order of torchvision's ImageFolder: columns `image`, `label`.

    Raises:
        SourceError: No image, or a class without one.
        StorageError: A folder cannot be listed.
    """
    folders = walk(root, name_of)
    classes = class_names_of(folders)
    label_of = {name: label for label, name in enumerate(classes)}
    builder, labels, empty = TableBuilder(), [], set(classes)
    for folder in class_by_class(folders):
        split = [name.rpartition(".") for name in folder.files]
        images = [(stem, end) for stem, _, end in split if stem and end.lower() in IMAGE_EXTENSIONS]
        if not images:
            continue
        builder.add_stems(IMAGE, [join(folder.path, stem) for stem, _ in images])
        builder.add_files(IMAGE, IMAGE, [f".{end}" for _, end in images])
        builder.end_piece(len(images))
        labels.append(np.full(len(images), label_of[class_of(folder)], dtype=np.int64))
        empty.discard(class_of(folder))
    check_classes(builder.num_rows, empty, root)
    builder.set_labels(LABEL, np.concatenate(labels))
    return builder.finish([IMAGE, LABEL], kind="image-folder", root=root, classes=classes)


def sibling_files(root: str, wanted: Wanted) -> Packed:
    """Files that share a name: a column for each of their endings, `a.seg.png` in `seg.png`, sorted by folder and name.

    Raises:
        SourceError: No file, or names that cannot be told apart.
        StorageError: A folder cannot be listed.
    """
    builder, found = TableBuilder(), set[str]()
    for folder in walk(root, name_of):
        place = join(root, folder.path) if folder.path else root
        samples = group_siblings(folder.files, place, "refuse").samples
        if not samples:
            continue
        builder.add_stems("", [join(folder.path, stem) for stem in samples])
        fields = {field for parts in samples.values() for field in parts}
        found |= fields
        for field in fields:
            if field in wanted:
                ends = (
                    folder.files[parts[field]][len(stem) :] if field in parts else None
                    for stem, parts in samples.items()
                )
                builder.add_files(field, "", ends)
        builder.end_piece(len(samples))
    if not builder.num_rows:
        raise SourceError(
            "no files in the source", path=root, accepted="files with an extension, as a.jpg a.txt a.json"
        )
    return builder.finish(sorted(found), kind="siblings", root=root)
