"""Tar shards as a dataset and through the loader, against the files they were made of."""

import io
import pickle
import random
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Subset
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import (
    CollateError,
    CorruptImageError,
    ImageLimitError,
    MissingFieldError,
    OptionError,
    ShardChangedError,
    ShardError,
    SourceError,
    TransformError,
    TruncatedShardError,
    UnsafeFieldError,
)

CROP = v2.Compose([v2.Resize(40), v2.CenterCrop(32), v2.ToImage()])
NUM = 60


@pytest.fixture(scope="module")
def images(photographs):
    return [path.read_bytes() for path in sorted(photographs.rglob("*.jpg"))]


@pytest.fixture(scope="module")
def shards(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    with hr.ShardWriter(folder / "part-%03d.tar", samples_per_shard=25) as writer:
        for number, image in enumerate(images):
            sample = {"__key__": f"k{number:03d}", "jpg": image, "cls": number % 7, "txt": f"photo {number}"}
            writer.write(sample | ({"json": {"n": number}} if number % 2 else {}))
    return folder


def write(folder, samples, **options):
    with hr.ShardWriter(folder / "s-%02d.tar", **options) as writer:
        for sample in samples:
            writer.write(sample)
    return folder


def expected(images, numbers):
    rows = [v2.functional.pil_to_tensor(v2.CenterCrop(32)(v2.Resize(40)(pil(images[n])))) for n in numbers]
    return torch.stack(rows)


def pil(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def jpeg(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def test_len_and_items(shards, images):
    dataset = hr.ShardDataset(shards, fields=("jpg", "cls", "txt"), transform={"jpg": CROP})
    assert len(dataset) == NUM
    image, label, text = dataset[59]
    assert torch.equal(image, expected(images, [59])[0])
    assert (label, text) == (59 % 7, "photo 59")
    assert dataset[-60][2] == "photo 0"
    with pytest.raises(IndexError):
        dataset[60]


def test_it_says_what_it_is(shards):
    assert repr(hr.ShardDataset(shards, fields=("jpg", "cls"))) == (
        "ShardDataset(60 samples in 3 shards, fields jpg, cls)"
    )


def test_shapes_of_fields(shards):
    assert hr.ShardDataset(shards, fields="txt")[3] == "photo 3"
    assert type(hr.ShardDataset(shards, fields="cls")[3]) is int
    assert hr.ShardDataset(shards, fields={"label": "cls", "caption": "txt"})[8] == {"label": 1, "caption": "photo 8"}
    everything = hr.ShardDataset(shards, missing="none")[1]
    assert set(everything) == {"jpg", "cls", "txt", "json"}
    assert everything["json"] == {"n": 1}


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_hold_the_right_rows(shards, images, num_workers):
    dataset = hr.ShardDataset(shards, fields=("jpg;jpeg;png", "cls", "txt"), transform={"jpg": CROP})
    loader = hr.DataLoader(dataset, 16, shuffle=True, num_workers=num_workers, extras=("index", "key", "url"))
    seen = []
    for batch in loader:
        pictures, labels, texts, index, keys, urls = batch
        numbers = index.tolist()
        assert torch.equal(pictures, expected(images, numbers))
        assert labels.tolist() == [number % 7 for number in numbers]
        assert list(texts) == [f"photo {number}" for number in numbers]
        assert keys == [f"k{number:03d}" for number in numbers]
        assert urls == [str(shards / f"part-{number // 25:03d}.tar") for number in numbers]
        seen += numbers
    assert sorted(seen) == list(range(NUM))


def test_torch_loader_with_workers_reads_the_same_dataset(shards):
    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform={"jpg": CROP})
    theirs = torch.utils.data.DataLoader(dataset, 20, num_workers=1, multiprocessing_context="spawn")
    ours = hr.DataLoader(dataset, 20, num_workers=2)
    for mine, other in zip(ours, theirs, strict=True):
        assert all(torch.equal(left, right) for left, right in zip(mine, other, strict=True))


def test_a_dataset_pickles_without_what_is_open(shards):
    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform={"jpg": CROP})
    image = dataset[7][0]
    assert torch.equal(pickle.loads(pickle.dumps(dataset))[7][0], image)


def test_dict_batches_and_their_extras(shards):
    dataset = hr.ShardDataset(shards, fields={"x": "jpg", "y": "cls"}, transform={"x": CROP})
    batch = hr.DataLoader(dataset, 10, num_workers=2, extras=("key", "valid")).peek()
    assert set(batch) == {"x", "y", "__key__", "__valid__"}
    assert batch["x"].shape == (10, 3, 32, 32)


def test_a_v2_transform_gets_the_whole_sample(shards):
    seen = []

    def look(sample):
        seen.append(sample)
        return sample

    dataset = hr.ShardDataset(
        shards, fields=("jpg", "cls"), transform=v2.Compose([v2.Resize(40), v2.CenterCrop(32), look, v2.ToImage()])
    )
    batch = hr.DataLoader(dataset, 4, num_workers=0).peek()
    assert batch[0].shape == (4, 3, 32, 32)
    assert batch[1].tolist() == [0, 1, 2, 3]
    assert [(type(image), label) for image, label in seen] == [(Image.Image, n) for n in range(4)]
    assert {type(label) for _, label in seen} == {int}


def test_a_callable_may_change_the_shape_of_samples(shards, images):
    def swap(sample):
        image, label = sample
        return {"label": label + 100, "mean": np.asarray(image).mean()}

    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform=swap)
    batch = hr.DataLoader(dataset, 3, num_workers=2).peek()
    assert batch["label"].tolist() == [100, 101, 102]
    assert batch["mean"][0].item() == pytest.approx(np.asarray(pil(images[0])).mean())


def test_several_images_go_through_one_transform_together(tmp_path, images):
    write(tmp_path, [{"__key__": str(n), "left.jpg": images[n], "right.jpg": images[n]} for n in range(4)])
    dataset = hr.ShardDataset(tmp_path, fields=("left.jpg", "right.jpg"), transform=v2.RandomResizedCrop(24))
    left, right = hr.DataLoader(dataset, 4, num_workers=2).peek()
    assert left.shape == (4, 3, 24, 24)
    assert torch.equal(left, right)


def test_rng_is_the_same_for_any_number_of_workers(shards):
    def jitter(label):
        return label + float(hr.rng().random())

    def labels(num_workers):
        dataset = hr.ShardDataset(shards, fields="cls", transform={"cls": jitter})
        return [batch.tolist() for batch in hr.DataLoader(dataset, 9, shuffle=True, num_workers=num_workers, seed=3)]

    assert labels(0) == labels(1) == labels(3)


def test_images_that_do_not_fit_are_told_apart(shards):
    dataset = hr.ShardDataset(shards, fields="jpg")
    with pytest.raises(CollateError, match=r"collate_fn|[Rr]esize"):
        list(hr.DataLoader(dataset, 30, num_workers=2))
    sizes = [[image.shape for image in batch] for batch in hr.DataLoader(dataset, 30, num_workers=2, collate_fn=list)]
    assert len({size for batch in sizes for size in batch}) > 1


@pytest.mark.parametrize("num_workers", [0, 2])
def test_missing_fields_follow_the_policy(shards, num_workers):
    def loader(missing, **options):
        dataset = hr.ShardDataset(shards, fields=("cls", "json"), missing=missing)
        return hr.DataLoader(dataset, 10, num_workers=num_workers, **options)

    with pytest.raises(MissingFieldError, match=r"part-000\.tar.*key=k000.*field=json"):
        list(loader("raise"))
    none = loader("none").peek()
    assert none[1] == [{"n": n} if n % 2 else None for n in range(10)]
    skipping = loader("skip")
    steps = [(labels.tolist(), skipping.valid.tolist(), values["n"].tolist()) for labels, values in skipping]
    assert len(steps) == 6
    assert all(valid == [bool(n % 2) for n in range(10)] for _, valid, _ in steps)
    assert steps[0][2] == [n if n % 2 else [1, 3, 5, 7, 9][n % 5] for n in range(10)]
    assert skipping.stats().counts["skipped_samples"] == 30


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_cut_image_is_raised_or_skipped_with_its_name(tmp_path, images, num_workers):
    """Case I2."""
    cut = images[3][: len(images[3]) * 6 // 10]
    samples = [{"__key__": f"n{n}", "jpg": cut if n == 3 else images[n], "cls": n} for n in range(8)]
    write(tmp_path, samples)
    dataset = hr.ShardDataset(tmp_path, fields=("jpg", "cls"), transform={"jpg": CROP})
    with pytest.raises(CorruptImageError, match=r"s-00\.tar.*key=n3.*field=jpg"):
        list(hr.DataLoader(dataset, 4, num_workers=num_workers))
    loader = hr.DataLoader(dataset, 4, num_workers=num_workers, on_error="skip")
    batches = [(pictures, labels.tolist(), loader.valid.tolist()) for pictures, labels in loader]
    assert [valid for _, _, valid in batches] == [[True, True, True, False], [True] * 4]
    assert torch.equal(batches[0][0][3], batches[0][0][0])
    assert batches[0][1] == [0, 1, 2, 0]
    assert loader.stats().counts["skipped_samples"] == 1


def test_a_batch_without_a_good_row_is_zeros_and_not_valid(tmp_path, images):
    write(tmp_path, [{"__key__": str(n), "jpg": images[n][:2000]} for n in range(2)])
    dataset = hr.ShardDataset(tmp_path, fields="jpg", transform=CROP)
    loader = hr.DataLoader(dataset, 2, num_workers=1, on_error="skip")
    batch = next(iter(loader))
    assert not batch.any()
    assert loader.valid.tolist() == [False, False]


def test_bytes_are_sniffed_and_all_images_become_rgb(tmp_path, images):
    """Cases I1, I3 and I5."""
    base = pil(images[0])
    palette = base.quantize(16)
    kinds = {
        "cmyk": jpeg(base.convert("CMYK")),
        "grey": jpeg(base.convert("L")),
        "png": png(base),
        "rgba": png(base.convert("RGBA")),
        "la": png(base.convert("LA")),
        "bits": png(base.convert("1")),
        "palette": png(palette),
        "rgb": images[0],
    }
    write(tmp_path, [{"__key__": name, "jpeg": data} for name, data in kinds.items()])
    batch = hr.DataLoader(hr.ShardDataset(tmp_path, fields="jpeg", transform=CROP), len(kinds), num_workers=2).peek()
    assert torch.equal(batch, expected(list(kinds.values()), range(len(kinds))))


def png(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def test_a_claim_of_huge_size_is_refused(tmp_path, images):
    """Case I4."""
    data = bytearray(images[0])
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = (65500).to_bytes(2, "big") * 2
    write(tmp_path, [{"__key__": "bomb", "jpg": bytes(data)}])
    dataset = hr.ShardDataset(tmp_path, fields="jpg", transform=CROP)
    with pytest.raises(ImageLimitError, match=r"65500.*key=bomb"):
        dataset[0]


def test_a_transform_that_raises_keeps_its_cause(shards):
    def fail(sample):
        raise ZeroDivisionError(sample[1])

    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform=v2.Compose([v2.Resize(40), fail, v2.ToImage()]))
    with pytest.raises(TransformError, match=r"ZeroDivisionError.*key=k000") as caught:
        list(hr.DataLoader(dataset, 8, num_workers=2))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_pickles_are_refused_unless_allowed(tmp_path):
    write(tmp_path, [{"__key__": "a", "pkl": pickle.dumps([1, 2])}], allow_pickle=("pkl",))
    with pytest.raises(UnsafeFieldError, match="allow_pickle"):
        hr.ShardDataset(tmp_path, fields="pkl")[0]
    assert hr.ShardDataset(tmp_path, fields="pkl", allow_pickle=("pkl",))[0] == [1, 2]


def test_shards_that_are_not_there_or_empty(tmp_path):
    with pytest.raises(SourceError, match=r"none-\{0\.\.3\}\.tar|none-0\.tar"):
        hr.ShardDataset(tmp_path / "none-{0..3}.tar", fields="jpg")
    (tmp_path / "zero.tar").write_bytes(b"")
    with pytest.raises(ShardError, match=r"zero\.tar"):
        hr.ShardDataset(tmp_path / "zero.tar", fields="jpg")
    with tarfile.open(tmp_path / "empty.tar", "w"):
        pass
    dataset = hr.ShardDataset(tmp_path / "empty.tar")
    assert len(dataset) == 0


@pytest.mark.parametrize(("fields", "wrong"), [(("jpg", "webp"), "webp"), ("mp4", "mp4")])
def test_fields_that_no_shard_holds(shards, fields, wrong):
    with pytest.raises(OptionError, match=rf"{wrong}.*jpg, cls, txt"):
        hr.ShardDataset(shards, fields=fields)


def test_a_damaged_shard_is_an_error_or_shortens_the_dataset(tmp_path, images):
    """Case S1 through the dataset."""
    write(tmp_path, [{"__key__": f"a{n}", "jpg": images[n], "cls": n} for n in range(6)])
    path = tmp_path / "s-00.tar"
    with tarfile.open(path) as tar:
        member = tar.getmembers()[9]
    for made in tmp_path.glob("*.index*"):
        made.unlink()
    (tmp_path / "index.json").unlink(missing_ok=True)
    with path.open("r+b") as file:
        file.truncate(member.offset_data + 1)
    with pytest.raises(ShardError, match=r"s-00\.tar"):
        hr.ShardDataset(path, fields=("jpg", "cls"), transform={"jpg": CROP})
    dataset = hr.ShardDataset(path, fields=("jpg", "cls"), transform={"jpg": CROP}, on_error="skip")
    assert len(dataset) == 4
    loader = hr.DataLoader(dataset, 2, num_workers=2)
    assert torch.cat([labels for _, labels in loader]).tolist() == [0, 1, 2, 3]
    assert [type(fault) for fault in dataset.faults] == [TruncatedShardError]
    told = loader.explain().splitlines()[1]
    assert told.startswith("damaged")
    assert "1 fault in shards" in told
    assert "s-00.tar" in told
    list(loader)
    assert loader.stats().counts["shard_faults"] == 1


def test_a_part_of_a_damaged_dataset_tells_its_faults_too(tmp_path, images):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, [{"__key__": f"{name}{n}", "jpg": images[n], "cls": n} for n in range(6)])
        (tmp_path / name / "index.json").unlink(missing_ok=True)
        cut = (tmp_path / name / "s-00.tar").read_bytes()[:-2000]
        (tmp_path / name / "s-00.tar").write_bytes(cut)
    parts = [hr.ShardDataset(tmp_path / name, fields="cls", on_error="skip") for name in ("a", "b")]
    for dataset, num in ((Subset(parts[0], [0, 1]), 1), (ConcatDataset(parts), 2)):
        loader = hr.DataLoader(dataset, 2, num_workers=0)
        list(loader)
        assert loader.stats().counts["shard_faults"] == num
        assert f"{num} fault" in loader.explain()
    assert hr.ShardDataset(tmp_path / "a", fields="cls", on_error="skip").faults


def test_an_index_is_an_integer(shards):
    dataset = hr.ShardDataset(shards, fields="cls")
    assert dataset[np.int64(-1)] == dataset[len(dataset) - 1]
    for wrong in ("1", 1.5, slice(0, 2), None):
        with pytest.raises(TypeError):
            dataset[wrong]
    with pytest.raises(IndexError, match=r"sample 5000 is out of range"):
        dataset.__getitems__([0, 5000])


def test_a_shard_that_shrinks_while_it_is_read_is_named(tmp_path, images):
    write(tmp_path, [{"__key__": f"a{n}", "jpg": images[n], "cls": n} for n in range(6)])
    dataset = hr.ShardDataset(tmp_path, fields=("jpg", "cls"), transform={"jpg": CROP})
    dataset[0]
    with (tmp_path / "s-00.tar").open("r+b") as file:
        file.truncate(30_000)
    with pytest.raises(ShardChangedError, match=r"s-00\.tar"):
        dataset[5]


def test_window_shuffle_reads_every_sample_once_over_ranks_and_epochs(tmp_path):
    numbers = list(range(97))
    random.Random(1).shuffle(numbers)
    write(tmp_path, [{"__key__": f"{n:03d}", "cls": n} for n in numbers], samples_per_shard=10)
    dataset = hr.ShardDataset(tmp_path, fields="cls")
    orders = []
    for epoch in range(2):
        rows = []
        for rank in range(3):
            loader = hr.DataLoader(
                dataset,
                4,
                shuffle=True,
                num_workers=1,
                window_samples=20,
                topology=hr.Topology(rank=rank, world_size=3),
            )
            loader.set_epoch(epoch)
            for labels in loader:
                rows += labels[torch.from_numpy(loader.valid)].tolist()
        assert sorted(rows) == sorted(numbers)
        orders.append(rows)
    assert orders[0] != orders[1]


def test_tv_tensors_end_as_tensors(shards):
    dataset = hr.ShardDataset(shards, fields="jpg", transform=v2.Compose([v2.ToImage(), v2.Resize((20, 20))]))
    batch = hr.DataLoader(dataset, 3, num_workers=2, fuse="exact").peek()
    assert type(batch) is torch.Tensor
    assert not isinstance(batch, tv_tensors.Image)


@pytest.mark.parametrize("middle", [[], [v2.Lambda(lambda image: image)]], ids=["fused", "Python between"])
def test_a_missing_image_is_none_where_it_may_be(tmp_path, images, middle):
    write(tmp_path, [{"__key__": str(n), "cls": n} | ({"jpg": images[n]} if n != 1 else {}) for n in range(3)])
    crop = v2.Compose([v2.Resize(40), v2.CenterCrop(32), *middle, v2.ToImage()])
    dataset = hr.ShardDataset(tmp_path, fields=("jpg", "cls"), transform={"jpg": crop}, missing="none")
    pictures, labels = hr.DataLoader(dataset, 3, num_workers=1).peek()
    assert pictures[1] is None
    assert torch.equal(torch.stack([pictures[0], pictures[2]]), expected(images, [0, 2]))
    assert labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("given", "expected"), [(["cat", "dog"], ("cat", "dog")), (5, None), ("cat", None)])
def test_class_names_are_those_of_a_list(tmp_path, given, expected):
    with hr.ShardWriter(tmp_path / "x-%06d.tar", extra={"class_names": given}) as writer:
        writer.write({"__key__": "a", "txt": "a"})
    assert hr.ShardDataset(tmp_path).classes == expected
