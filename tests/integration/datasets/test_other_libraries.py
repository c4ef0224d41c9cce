"""albumentations and kornia in the part of a transform that Python runs."""

import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import OptionError, TransformError

ENGINES = [{"num_workers": 0}, {"engine": "threads", "num_workers": 2}, {"engine": "processes", "num_workers": 2}]


def all_engines(dataset, **options):
    """The same epoch of every engine, once it is known to be the same."""
    epochs = [list(hr.DataLoader(dataset, 6, seed=4, shuffle=True, **options, **engine)) for engine in ENGINES]
    for other in epochs[1:]:
        for one, two in zip(epochs[0], other, strict=True):
            for first, second in zip(parts(one), parts(two), strict=True):
                assert torch.equal(first, second)
    return epochs[0]


def parts(batch):
    return [one for one in (batch.values() if isinstance(batch, dict) else batch) if isinstance(one, torch.Tensor)]


@pytest.fixture(scope="module")
def album():
    return pytest.importorskip("albumentations")


@pytest.fixture
def photo_list(photographs):
    names = sorted(str(path.relative_to(photographs)) for path in photographs.rglob("*.jpg"))[:24]
    boxes = [[[2.0, 3.0, 30.0 + number % 5, 40.0]] * (number % 3) for number in range(24)]
    return [
        {"image": name, "bboxes": box, "labels": [number] * len(box), "n": number}
        for number, (name, box) in enumerate(zip(names, boxes, strict=True))
    ]


def test_images_of_albumentations_are_the_same_in_every_engine(album, photographs):
    import albumentations.pytorch  # noqa: F401 - ToTensorV2 lives there

    chain = album.Compose(
        [
            album.RandomResizedCrop((24, 24)),
            album.HorizontalFlip(p=0.5),
            album.RandomBrightnessContrast(p=1.0),
            album.GaussNoise(p=1.0),
            album.pytorch.ToTensorV2(),
        ]
    )
    dataset = hr.FileDataset(photographs, fields=("image", "label"), transform=hr.Albumentations(chain))
    batches = all_engines(dataset)
    images = torch.cat([batch[0] for batch in batches])
    assert images.shape == (60, 3, 24, 24)
    assert images.dtype == torch.uint8
    again = torch.cat([batch[0] for batch in hr.DataLoader(dataset, 6, seed=5, shuffle=True, num_workers=0)])
    assert not torch.equal(images, again)


def test_boxes_move_with_the_image_and_what_it_does_not_know_stays(album, photographs, photo_list):
    flip = album.Compose(
        [album.HorizontalFlip(p=1.0)], bbox_params=album.BboxParams(format="pascal_voc", label_fields=["labels"])
    )
    fields = {"image": "image", "bboxes": "bboxes", "labels": "labels", "n": "n"}
    options = {"root": photographs, "labels": "", "fields": fields}
    plain = hr.FileDataset(photo_list, **options)
    moved = hr.FileDataset(photo_list, transform=hr.Albumentations(flip), **options)
    for row in (0, 1, 2, 5):
        before, after = plain[row], moved[row]
        assert after["n"] == row
        assert torch.equal(after["image"], before["image"].flip(-1))
        width = before["image"].shape[-1]
        wanted = [[width - box[2], box[1], width - box[0], box[3]] for box in before["bboxes"]]
        assert np.allclose(np.array(after["bboxes"]).reshape(-1, 4), np.array(wanted).reshape(-1, 4), atol=1e-3)
        assert after["labels"] == before["labels"]


def test_masks_move_with_the_image(album, photographs, tmp_path):
    from PIL import Image

    for number, path in enumerate(sorted(photographs.rglob("*.jpg"))[:4]):
        with Image.open(path) as image:
            image.save(tmp_path / f"{number}.png")
            image.convert("L").save(tmp_path / f"{number}.seg.png")
    dataset = hr.FileDataset(
        tmp_path,
        fields={"image": "png", "mask": "seg.png"},
        transform=hr.Albumentations(album.Compose([album.RandomCrop(16, 16), album.HorizontalFlip()])),
    )
    for sample in map(dataset.__getitem__, range(4)):
        image, mask = sample["image"], sample["mask"]
        grey = (image.float().permute(1, 2, 0) @ torch.tensor([0.299, 0.587, 0.114])).round()
        assert mask.shape == (16, 16)
        assert (grey - mask.float()).abs().max() <= 1


def test_a_single_transform_and_what_is_none(album, photographs):
    dataset = hr.FileDataset(photographs, fields="image", transform=hr.Albumentations(album.CenterCrop(8, 8)))
    assert dataset[0].shape == (3, 8, 8)
    with pytest.raises(OptionError, match=r"set_random_state"):
        hr.Albumentations(v2.CenterCrop(8))
    big = hr.FileDataset(photographs, fields="image", transform=hr.Albumentations(album.RandomCrop(9999, 9999)))
    with pytest.raises(TransformError, match=r"field=image"):
        big[0]


def test_boxes_of_any_number_are_of_one_type_in_every_batch(album, photographs, photo_list):
    chain = album.Compose(
        [album.HorizontalFlip(p=1.0)], bbox_params=album.BboxParams(format="pascal_voc", label_fields=["labels"])
    )
    fields = {"image": "image", "bboxes": hr.field("bboxes", kind="boxes"), "labels": "labels"}
    dataset = hr.FileDataset(photo_list, root=photographs, labels="", fields=fields, transform=hr.Albumentations(chain))
    collate = {"image": "list", "bboxes": "list", "labels": "list"}
    for batch in all_engines(dataset, collate=collate):
        assert {boxes.dtype for boxes in batch["bboxes"]} == {torch.float32}
        assert {boxes.shape[1] for boxes in batch["bboxes"]} == {4}
        assert all(type(labels) is list for labels in batch["labels"])
        assert [len(labels) for labels in batch["labels"]] == [len(boxes) for boxes in batch["bboxes"]]


@pytest.mark.parametrize("where", ["alone", "in a list", "of a field", "of a view"])
def test_a_transform_that_is_not_wrapped_is_told_how(album, photographs, where):
    bare = album.HorizontalFlip()
    transform = {
        "alone": album.Compose([bare]),
        "in a list": v2.Compose([v2.CenterCrop(8), bare]),
        "of a field": {"image": album.Compose([bare])},
        "of a view": hr.Views((bare, 2)),
    }[where]
    with pytest.raises(OptionError, match=r"hr\.Albumentations"):
        hr.FileDataset(photographs, fields=("image", "label"), transform=transform)[0]


def test_kornia_on_samples(photographs):
    kornia = pytest.importorskip("kornia")
    chain = v2.Compose(
        [
            v2.Resize((24, 24)),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            kornia.augmentation.RandomHorizontalFlip(p=1.0, keepdim=True),
        ]
    )
    plain = hr.FileDataset(photographs, fields="image", transform=v2.Compose(chain.transforms[:-1]))
    flipped = hr.FileDataset(photographs, fields="image", transform=chain)
    for one, two in zip(hr.DataLoader(plain, 20), hr.DataLoader(flipped, 20), strict=True):
        assert torch.allclose(one.flip(-1), two, atol=1e-6)


def test_kornia_on_batches_is_the_same_in_every_engine(photographs):
    kornia = pytest.importorskip("kornia")
    chain = torch.nn.Sequential(
        kornia.augmentation.RandomAffine(20.0, p=1.0),
        kornia.augmentation.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
        kornia.augmentation.RandomErasing(p=0.5),
    )
    images = v2.Compose([v2.Resize((24, 24)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    dataset = hr.FileDataset(photographs, fields=("image", "label"), transform=images)

    def augment(batch):
        return [chain(tv_tensors.Image(batch[0]).as_subclass(torch.Tensor)), batch[1]]

    before = torch.get_rng_state()
    batches = all_engines(dataset, batch_transform=augment)
    assert torch.equal(torch.get_rng_state(), before)
    assert len({float(batch[0].mean()) for batch in batches}) == len(batches)
