"""Loose files as a dataset and through the loader, against Pillow, ImageFolder, and shards of the same."""

import csv
import json
import os
import pickle
import shutil
import subprocess
import sys

import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Subset, random_split
from torch.utils.data import DataLoader as TorchLoader
from torchvision import datasets
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import (
    CollateError,
    CorruptImageError,
    LabelError,
    MissingFieldError,
    OptionError,
    SourceError,
    StorageError,
    TransformError,
)
from headrace.pack import PackOptions, pack

CROP = v2.Compose([v2.Resize(40), v2.CenterCrop(32), v2.ToImage()])
RANDOM = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage()])
ENGINES = [{"num_workers": 0}, {"engine": "threads", "num_workers": 2}, {"engine": "processes", "num_workers": 2}]


def paths_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.jpg"))


def pil(path):
    with Image.open(path) as image:
        return image.convert("RGB")


def expected(folder, names):
    return torch.stack([v2.functional.pil_to_tensor(v2.CenterCrop(32)(v2.Resize(40)(pil(folder / n)))) for n in names])


def same(one, other):
    """Whether two batches are equal, whatever holds their parts."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.fixture(scope="module")
def siblings(photographs, tmp_path_factory):
    """Photographs with their captions, masks and notes beside them, in two folders; every third one has no note."""
    folder = tmp_path_factory.mktemp("siblings")
    for number, name in enumerate(paths_below(photographs)[:12]):
        stem = folder / f"part{number % 2}" / f"p{number:02d}"
        stem.parent.mkdir(exist_ok=True)
        shutil.copy(photographs / name, stem.with_suffix(".JPG" if number % 4 == 0 else ".jpg"))
        stem.with_suffix(".txt").write_text(f"photo {number}")
        mask = pil(photographs / name).convert("L").point(lambda level: level // 64)
        mask.save(stem.with_suffix(".seg.png"))
        if number % 3:
            stem.with_suffix(".json").write_text(json.dumps({"n": number, "box": [1, 2, 3, number]}))
    return folder


@pytest.fixture
def captions(photographs, tmp_path):
    """A CSV beside a copy of the folder: photographs, their class by name, a caption with a comma and quotes."""
    names = paths_below(photographs)[:20]
    with (tmp_path / "list.csv").open("w", newline="", encoding="utf-8-sig") as text:
        writer = csv.writer(text)
        writer.writerow(["image", "class", "caption"])
        for number, name in enumerate(names):
            writer.writerow([os.path.relpath(photographs / name, tmp_path), name.split("/")[0], f'say "{number}", ä'])
    return tmp_path / "list.csv", names


# Folders of classes


def test_a_folder_of_classes_is_what_image_folder_makes_of_it(photographs):
    ours = hr.FileDataset(photographs, fields=("image", "label"), transform=CROP)
    theirs = datasets.ImageFolder(photographs, CROP)
    assert list(ours.classes) == theirs.classes
    assert len(ours) == len(theirs)
    assert all(torch.equal(ours[row][0], theirs[row][0]) and ours[row][1] == theirs[row][1] for row in (0, 7, -1))
    assert "60 samples, image-folder, fields image, label" in repr(ours)


@pytest.mark.parametrize("options", ENGINES)
def test_loader_gives_the_same_as_of_image_folder_and_as_of_shards(photographs, tmp_path, options):
    pack(str(photographs), str(tmp_path / "shards"), PackOptions(shuffle=False))
    fields = {"fields": ("jpg", "cls"), "transform": RANDOM}
    files = hr.DataLoader(hr.FileDataset(photographs, **fields), 16, shuffle=True, seed=3, **options)
    folder = hr.DataLoader(datasets.ImageFolder(photographs, RANDOM), 16, shuffle=True, seed=3, **options)
    shards = hr.DataLoader(hr.ShardDataset(tmp_path / "shards", **fields), 16, shuffle="full", seed=3, **options)
    batches = list(files)
    assert same(batches, list(folder))
    assert same(batches, list(shards))


def test_states_of_image_folder_and_file_dataset_are_one(photographs, tmp_path):
    shutil.copytree(photographs, tmp_path / "moved")
    first = hr.DataLoader(datasets.ImageFolder(photographs, CROP), 8, shuffle=True, seed=1)
    batches = iter(first)
    next(batches)
    second = hr.DataLoader(hr.FileDataset(tmp_path / "moved", fields=("image", "cls"), transform=CROP), 8, shuffle=True)
    second = hr.DataLoader(second.dataset, 8, shuffle=True, seed=1)
    second.load_state_dict(first.state_dict())
    assert same(list(batches), list(second))
    first.close()


def test_all_of_it_is_on_the_fast_path(photographs):
    dataset = hr.FileDataset(photographs, fields=("image", "label"), transform=CROP)
    text = hr.DataLoader(dataset, 8).explain()
    assert "loose files; bytes are fetched by the batch" in text
    assert "fused: Resize, CenterCrop, ToImage" in text


def test_parts_of_it_are_on_the_fast_path(photographs):
    dataset = hr.FileDataset(photographs, fields=("image", "label"), transform=CROP)
    other = datasets.ImageFolder(photographs, CROP)
    chosen = list(range(40, 2, -3))
    pairs = [
        (Subset(dataset, chosen), Subset(other, chosen)),
        (ConcatDataset([dataset, Subset(dataset, chosen)]), ConcatDataset([other, Subset(other, chosen)])),
        tuple(random_split(one, [50, 10], torch.Generator().manual_seed(0))[0] for one in (dataset, other)),
    ]
    for ours, theirs in pairs:
        loader = hr.DataLoader(ours, 16)
        assert "bytes are fetched by the batch" in loader.explain()
        assert same(list(loader), list(TorchLoader(theirs, 16)))


def test_torchs_own_loader_takes_it(photographs):
    dataset = hr.FileDataset(photographs, fields={"x": "image", "y": "cls"}, transform={"image": CROP})
    batch = next(iter(TorchLoader(dataset, 6, num_workers=1, multiprocessing_context="spawn")))
    assert torch.equal(batch["x"], expected(photographs, paths_below(photographs)[:6]))
    assert batch["y"].tolist() == [0] * 6


def test_all_fields_where_none_are_named(photographs):
    sample = hr.FileDataset(photographs)[0]
    assert sample.keys() == {"image", "label"}
    assert hr.FileDataset(photographs, fields="label")[59] == 9


def test_a_subclass_with_samples_of_its_own_stays_python(photographs):
    class Own(hr.FileDataset):
        def __getitem__(self, index):
            return index

    assert "from Python" in hr.DataLoader(Own(photographs), 4).explain()


def test_only_some_extensions(photographs, tmp_path):
    for number, name in enumerate(paths_below(photographs)[:4]):
        (tmp_path / "tree" / "a").mkdir(parents=True, exist_ok=True)
        pil(photographs / name).save(tmp_path / "tree" / "a" / f"{number}.{'png' if number % 2 else 'jpg'}")
    both = hr.FileDataset(tmp_path / "tree", fields="png;jpg", transform=CROP)
    assert [entry.extensions for entry in both.shape.entries] == [("png", "jpg")]
    assert len(next(iter(hr.DataLoader(both, 4)))) == 4
    only = hr.FileDataset(tmp_path / "tree", fields="png", transform=CROP, missing="none")
    assert [only[row] is None for row in range(4)] == [True, False, True, False]
    with pytest.raises(MissingFieldError, match=r"0\.jpg"):
        hr.FileDataset(tmp_path / "tree", fields="png", transform=CROP)[0]


# Files side by side


def test_files_side_by_side(siblings, photographs):
    dataset = hr.FileDataset(siblings, fields=("jpg", "txt"), transform=CROP)
    assert dataset.classes is None
    order = [number for half in (0, 1) for number in range(half, 12, 2)]
    images, texts = next(iter(hr.DataLoader(dataset, 12)))
    assert list(texts) == [f"photo {number}" for number in order]
    names = paths_below(photographs)
    assert torch.equal(images, expected(photographs, [names[number] for number in order]))


@pytest.mark.parametrize("options", ENGINES)
def test_an_ending_that_some_lack(siblings, options):
    loader = hr.DataLoader(hr.FileDataset(siblings, fields={"t": "txt", "j": "json"}), 4, **options)
    with pytest.raises(MissingFieldError, match=r"lacks a field.*p00.*field=j"):
        list(loader)
    dataset = hr.FileDataset(siblings, fields=("txt", "json"), missing="none")
    rows = [row for batch in hr.DataLoader(dataset, 4, collate="list", **options) for row in batch]
    assert sum(note is None for _, note in rows) == 4
    assert all(note is None or text == f"photo {note['n']}" for text, note in rows)
    dataset = hr.FileDataset(siblings, fields=("txt", "json"), missing="skip")
    loader = hr.DataLoader(dataset, 12, collate="list", **options)
    (rows,) = loader
    assert [text == f"photo {note['n']}" for text, note in rows] == [True] * 12
    assert loader.valid.sum() == 8


def test_masks_beside_images_keep_their_values(siblings):
    image, mask = hr.FileDataset(siblings, fields=("jpg", "seg.png"))[1]
    assert image.shape[-2:] == mask.shape[-2:]
    assert set(mask.unique().tolist()) <= {0, 1, 2, 3}


def test_the_same_samples_as_shards_of_them(siblings, tmp_path):
    pack(str(siblings), str(tmp_path / "s"), PackOptions(shuffle=False))
    options = {"fields": ("jpg", "txt", "json"), "missing": "none", "transform": {"jpg": CROP}}
    loose, packed = hr.FileDataset(siblings, **options), hr.ShardDataset(tmp_path / "s", **options)
    rows = [sorted((one[row] for row in range(12)), key=lambda sample: sample[1]) for one in (loose, packed)]
    assert same(*rows)


# Lists


def test_a_csv_with_class_names_and_captions(captions, photographs):
    path, names = captions
    dataset = hr.FileDataset(path, fields=("image", "cls", "caption"), transform={"image": CROP})
    assert list(dataset.classes) == sorted({name.split("/")[0] for name in names})
    images, labels, texts = next(iter(hr.DataLoader(dataset, 20)))
    assert torch.equal(images, expected(photographs, names))
    assert [dataset.classes[label] for label in labels] == [name.split("/")[0] for name in names]
    assert list(texts) == [f'say "{number}", ä' for number in range(20)]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "rows", "generator"])
@pytest.mark.parametrize("options", ENGINES)
def test_lists_of_every_kind_give_the_same(photographs, tmp_path, kind, options):
    rows = [
        {"file": name, "y": number, "boxes": [[0.0, 1.0, 2.0, float(number)]] * (number % 3), "score": number / 2}
        for number, name in enumerate(paths_below(photographs)[:9])
    ]
    source = rows
    if kind == "generator":
        source = (row for row in rows)
    if kind == "jsonl":
        source = tmp_path / "l.jsonl"
        source.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        source = tmp_path / "l.parquet"
        parquet.write_table(pa.Table.from_pylist(rows), source)
    dataset = hr.FileDataset(
        source, root=photographs, fields=("file", "y", "boxes", "score"), transform={"file": CROP}, labels="y"
    )
    loader = hr.DataLoader(dataset, 9, collate={"boxes": "list"}, **options)
    ((images, labels, boxes, scores),) = loader
    assert torch.equal(images, expected(photographs, [row["file"] for row in rows]))
    assert labels.tolist() == list(range(9))
    assert labels.dtype == torch.int64
    assert boxes == [row["boxes"] for row in rows]
    assert scores.tolist() == [row["score"] for row in rows]
    assert scores.dtype == torch.float64


def test_several_columns_of_paths(siblings):
    rows = [
        {"image": f"part0/p{number:02d}.{'JPG' if number % 4 == 0 else 'jpg'}", "mask": f"part0/p{number:02d}.seg.png"}
        for number in range(0, 12, 2)
    ]
    dataset = hr.FileDataset(rows, root=siblings, paths=("image", "mask"), fields=("image", "mask"))
    assert [entry.kind for entry in dataset.shape.entries] == ["image", "mask"]
    image, mask = dataset[3]
    assert mask.shape[-2:] == image.shape[-2:]
    assert torch.equal(mask, hr.FileDataset(siblings, fields="seg.png")[3])


def test_absolute_paths_and_paths_above(photographs, tmp_path):
    names = paths_below(photographs)[:3]
    above = os.path.relpath(photographs / names[0], tmp_path)
    here = os.path.relpath(photographs / names[2], tmp_path)
    (tmp_path / "l.csv").write_text(f"path\n{above}\n{photographs / names[1]}\n./{here}\n")
    dataset = hr.FileDataset(tmp_path / "l.csv", fields="path", transform=CROP)
    assert torch.equal(next(iter(hr.DataLoader(dataset, 3))), expected(photographs, names))


def test_identity_is_of_names_and_labels_not_of_places(photographs, tmp_path):
    shutil.copytree(photographs, tmp_path / "moved")
    (tmp_path / "aside").mkdir()
    names = paths_below(photographs)[::7]
    identities = []
    for root in (photographs, tmp_path / "moved"):
        relative = hr.FileDataset([{"path": name} for name in names], root=root, fields="path")
        absolute = hr.FileDataset(
            [{"path": f"{root}/{name}"} for name in names], root=tmp_path / "aside", fields="path"
        )
        inside = hr.FileDataset([{"path": f"{root}/{name}"} for name in names], root=root, fields="path")
        identities += [relative.source.identity(), absolute.source.identity(), inside.source.identity()]
    assert all(identity == identities[0] for identity in identities)
    one = hr.FileDataset([{"path": name, "label": 1} for name in names], root=photographs, fields="path")
    assert one.source.identity() != identities[0]
    fewer = hr.FileDataset([{"path": name, "label": 1} for name in names], root=photographs, fields=("path", "label"))
    assert one.source.identity() == fewer.source.identity()


def test_labels_by_names_and_numbers_of_ones_own(captions):
    path, names = captions
    first, *others = sorted({name.split("/")[0] for name in names})
    own = [*others, first]
    dataset = hr.FileDataset(path, fields=hr.field("cls", classes=own))
    assert list(dataset.classes) == own
    assert [own[label] for label in next(iter(hr.DataLoader(dataset, 20))).tolist()] == [n.split("/")[0] for n in names]
    auto = hr.FileDataset(path, fields=hr.field("class", classes="auto"))
    assert auto.classes == (first, *others)
    assert auto[0] == 0
    with pytest.raises(LabelError, match=r"no class has.*field=cls"):
        next(iter(hr.DataLoader(hr.FileDataset(path, fields=hr.field("cls", classes=others)), 20)))
    with pytest.raises(OptionError, match="finds no class names"):
        hr.FileDataset([{"path": "x.jpg", "y": 1}], missing="none", labels="y", fields=hr.field("y", classes="auto"))


def test_a_column_called_like_an_extension_is_what_the_list_has():
    rows = [{"path": "x", "id": "b7", "text": 3.5, "class": 1}]
    dataset = hr.FileDataset(rows, fields=("id", "text"))
    assert dataset[0] == ("b7", 3.5)
    assert hr.FileDataset(rows, fields={"a": "id", "b": "cls"})[0] == {"a": "b7", "b": 1}


def test_parts_of_columns_by_a_path():
    rows = [{"path": "x", "notes": {"boxes": [[0, 0, 1 + n, 2]] * n, "text": f"t{n}"}} for n in range(4)]
    fields = (hr.field("notes", get="boxes[]", kind="boxes", format="XYWH"), hr.field("notes", get="text", kind="text"))
    boxes, texts = next(iter(hr.DataLoader(hr.FileDataset(rows, fields=fields), 4, collate={0: "list"})))
    assert [len(one) for one in boxes] == [0, 1, 2, 3]
    assert list(texts) == ["t0", "t1", "t2", "t3"]


# What is wrong with sources


def test_files_of_a_list_that_are_not_there(captions, photographs, tmp_path):
    names = paths_below(photographs)[:40]
    rows = [{"image": name, "n": number} for number, name in enumerate(names)]
    rows[1]["image"] = "gone/1.jpg"  # none of those that are looked for when the list is opened
    options = {"root": photographs, "fields": ("image", "n"), "transform": CROP}
    with pytest.raises(MissingFieldError, match=r"names is not there.*gone/1\.jpg.*field=image"):
        next(iter(hr.DataLoader(hr.FileDataset(rows, **options), 4)))
    loader = hr.DataLoader(hr.FileDataset(rows, missing="skip", **options), 4)
    images, numbers = next(iter(loader))
    assert loader.valid.tolist() == [True, False, True, True]
    assert torch.equal(images, expected(photographs, [names[number] for number in numbers.tolist()]))
    images, numbers = next(iter(hr.DataLoader(hr.FileDataset(rows, missing="none", **options), 4)))
    assert [image is None for image in images] == [False, True, False, False]
    assert numbers.tolist() == [0, 1, 2, 3]
    with pytest.raises(SourceError, match=r"of the list .*not there.*root="):
        hr.FileDataset(rows, root=tmp_path, fields="image", missing="skip")
    rows[0]["image"] = "gone/0.jpg"
    with pytest.raises(SourceError, match=r"1 of 16.*gone/0\.jpg"):
        hr.FileDataset(rows, **options)


def test_a_file_of_a_folder_that_goes_is_no_missing_field(photographs, tmp_path):
    shutil.copytree(photographs, tmp_path / "tree")
    dataset = hr.FileDataset(tmp_path / "tree", fields="image", transform=CROP, missing="skip")
    next((tmp_path / "tree").rglob("*.jpg")).rename(tmp_path / "elsewhere.jpg")
    with pytest.raises(StorageError, match=r"cannot read .*\.jpg"):
        list(hr.DataLoader(dataset, 8))


def test_damaged_images_are_named_and_can_be_left_out(photographs, tmp_path):
    shutil.copytree(photographs, tmp_path / "tree")
    broken = sorted((tmp_path / "tree").rglob("*.jpg"))[2]
    broken.write_bytes(broken.read_bytes()[:100])
    dataset = hr.FileDataset(tmp_path / "tree", fields=("image", "label"), transform=CROP)
    with pytest.raises(CorruptImageError) as caught:
        list(hr.DataLoader(dataset, 8))
    assert caught.value.where["key"] == str(broken)
    assert caught.value.where["field"] == "image"
    loader = hr.DataLoader(dataset, 8, on_error="skip")
    next(iter(loader))
    assert loader.valid.tolist() == [row != 2 for row in range(8)]


def test_a_label_callable_that_raises_is_named(photographs):
    dataset = hr.FileDataset(
        photographs, fields=("image", "label"), transform={"image": CROP, "label": lambda _: 1 / 0}
    )
    with pytest.raises(TransformError, match=r"ZeroDivisionError.*field=label"):
        next(iter(hr.DataLoader(dataset, 4)))


def refuse(values):
    raise ValueError(f"{len(values)} of {type(values[0]).__name__}")


READS = r"headrace.field\('image', kind=\"image\"\) in fields= reads them as images"


@pytest.mark.parametrize("fields", [("image", "y"), {"photo": "image", "y": "y"}], ids=["tuple", "dict"])
@pytest.mark.parametrize(
    "transform",
    [v2.RandomResizedCrop(8), {"image": lambda image: image.resize((3, 3))}, {"image": v2.RandomResizedCrop(8)}],
    ids=["sample", "function", "field"],
)
def test_files_of_no_known_extension_say_how_a_transform_gets_images(photographs, tmp_path, fields, transform):
    rows = rows_of_unknown_files(photographs, tmp_path)
    dataset = hr.FileDataset(rows, root=tmp_path, fields=fields, transform=transform)
    with pytest.raises(TransformError, match=READS) as caught:
        next(iter(hr.DataLoader(dataset, 2)))
    name = "photo" if isinstance(fields, dict) else "image"
    assert (caught.value.where["field"], caught.value.where["key"]) == (name, str(tmp_path / "0.shot"))


def test_files_of_no_known_extension_say_how_a_rule_gets_images(photographs, tmp_path):
    rows = rows_of_unknown_files(photographs, tmp_path)
    dataset = hr.FileDataset(rows, root=tmp_path, fields=("image", "y"))
    with pytest.raises(CollateError, match=READS):
        next(iter(hr.DataLoader(dataset, 2, collate={"image": "pad"})))
    with pytest.raises(ValueError, match="2 of bytes") as caught:
        next(iter(hr.DataLoader(dataset, 2, collate={"image": refuse})))
    assert any("reads them as images" in note for note in caught.value.__notes__)
    fields = (hr.field("image", kind="image"), "y")
    dataset = hr.FileDataset(rows, root=tmp_path, fields=fields, transform=v2.RandomResizedCrop(8))
    assert next(iter(hr.DataLoader(dataset, 2)))[0].shape == (2, 3, 8, 8)


def rows_of_unknown_files(photographs, folder):
    """A list of two photographs whose names say nothing of what they are."""
    for number, path in enumerate(sorted(photographs.rglob("*.jpg"))[:2]):
        shutil.copy(path, folder / f"{number}.shot")
    return [{"image": f"{number}.shot", "y": number} for number in range(2)]


def test_links_that_lead_in_a_circle_and_to_nothing(photographs, tmp_path):
    shutil.copytree(photographs, tmp_path / "tree")
    (tmp_path / "tree" / "circle").symlink_to(tmp_path / "tree")
    with pytest.raises(SourceError, match="leads back to a folder above"):
        hr.FileDataset(tmp_path / "tree")
    (tmp_path / "tree" / "circle").unlink()
    name = next((tmp_path / "tree").rglob("*.jpg"))
    name.with_name("link.jpg").symlink_to("nowhere.jpg")
    with pytest.raises(SourceError, match="leads to nothing"):
        hr.FileDataset(tmp_path / "tree")
    name.with_name("link.jpg").unlink()
    name.with_name("link.jpg").symlink_to(name)
    assert len(hr.FileDataset(tmp_path / "tree")) == 61


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ("gone", {}, SourceError, "does not exist"),
        ("empty", {}, SourceError, "no images and no other files"),
        ("empty", {"kind": "image-folder"}, SourceError, "no images in the folders"),
        ("empty", {"kind": "siblings"}, SourceError, "no files in the source"),
        ("empty", {"kind": "folder"}, OptionError, "kind is not accepted"),
        ("empty/l.csv", {}, SourceError, "the list is no file"),
        ("shards-{0..3}.tar", {}, OptionError, "ShardDataset"),
        (7, {}, OptionError, "no path, and no rows"),
        ([], {}, SourceError, "the list has no rows"),
        ([1], {}, SourceError, "row 1 of the rows is no mapping"),
        ([{"x": "a.jpg"}], {}, SourceError, "looks like a path.*paths=NAME"),
        ([{"path": "a.jpg"}], {"paths": "image"}, SourceError, "no such column.*image"),
        ([{"path": "a.jpg"}], {"paths": ("path", "mask")}, SourceError, "no such column.*mask"),
        ([{"path": "a.jpg"}], {"paths": 3}, OptionError, "names no columns"),
        ([{"path": "a.jpg"}], {"labels": "y"}, SourceError, "no such column.*y"),
        ([{"path": "a.jpg"}], {"root": "gone"}, SourceError, "root= is no folder"),
        ([{"path": ""}], {}, SourceError, "without a path.*line=1"),
        ([{"path": "a.jpg"}, {"path": 5}], {}, SourceError, "not a path.*line=2"),
        ([{"path": "a\0.jpg"}], {}, SourceError, "not a path"),
        ([{"path": "a.jpg"}, {"path": "\ud800.jpg"}], {}, SourceError, "not a path in UTF-8.*line=2"),
        ([{"path": "a.jpg", "label": 2**64}], {}, SourceError, "not a label.*line=1.*64 bits"),
        ([{"path": "s3://a/b.jpg"}], {}, SourceError, "not on this machine"),
        ([{"path": "a.jpg", "label": 1.5}], {}, SourceError, r"not a label.*labels=''"),
        ([{"path": "a.jpg"}], {"missing": "never"}, OptionError, "missing is not accepted"),
        ([{"path": "a.jpg"}], {"per": "rank"}, OptionError, "per is not known"),
        ("empty", {"per": "rank"}, OptionError, "per is not known"),
    ],
)
def test_sources_that_are_refused(tmp_path, monkeypatch, source, options, error, message):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        hr.FileDataset(source, **options)


def test_fields_that_are_not_there(photographs, siblings):
    with pytest.raises(OptionError, match=r"no field 'seg\.png'.*image, label, cls, jpg"):
        hr.FileDataset(photographs, fields=("jpg", "seg.png"))
    with pytest.raises(OptionError, match=r"no field 'cls'.*jpg, json, seg\.png, txt"):
        hr.FileDataset(siblings, fields=("jpg", "cls"))
    with pytest.raises(OptionError, match="cannot be of kind 'boxes'"):
        hr.FileDataset(photographs, fields=hr.field("image", kind="boxes"))
    with pytest.raises(OptionError, match="alternatives are for files"):
        hr.FileDataset(photographs, fields=("jpg;label",))
    with pytest.raises(OptionError, match=r"root= is for lists"):
        hr.FileDataset(photographs, root=photographs)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "l.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SourceError, match="pip install pyarrow"):
        hr.FileDataset(tmp_path / "l.parquet")


# What it costs


def test_it_travels_as_a_handle(photographs):
    dataset = hr.FileDataset(photographs, fields=("image", "label"), transform=CROP)
    assert len(pickle.dumps(dataset)) < 6000
    assert same(pickle.loads(pickle.dumps(dataset))[3], dataset[3])


OPENED = """
import sys
import headrace as hr
dataset = hr.FileDataset(sys.argv[1], fields=("image", "label"), per=sys.argv[2])
print(dataset.table.block.header.token.hex(), len(dataset), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("per", "num_tables"), [("auto", 1), ("node", 1), ("process", 2)])
def test_ranks_of_a_node_share_one_table(photographs, per, num_tables):
    job = {"LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(os.getpid())}
    command = [sys.executable, "-c", OPENED, str(photographs), per]
    paths = os.pathsep.join(filter(None, sys.path))
    ranks = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | job | {"RANK": str(rank), "PYTHONPATH": paths},
        )
        for rank in range(2)
    ]
    found = [rank.stdout.readline().split() for rank in ranks]
    for rank in ranks:
        rank.communicate(timeout=60)
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert [num for _, num in found] == ["60", "60"]
    assert len({token for token, _ in found}) == num_tables


def test_only_the_columns_that_are_asked_for_are_kept(tmp_path):
    (tmp_path / "1.jpg").write_bytes(b"")
    rows = [{"path": "1.jpg", "caption": "a long caption " * 20} for _ in range(1000)]
    sizes = [hr.FileDataset(rows, root=tmp_path, fields=fields).table.size_bytes for fields in (None, "path")]
    assert sizes[1] < 10_000
    assert sizes[0] > 200_000
