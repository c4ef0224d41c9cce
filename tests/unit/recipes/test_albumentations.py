"""Parts of a sample go through albumentations and come back as what they were."""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors as tv

from headrace.recipes.albumentations import Albumentations

album = pytest.importorskip("albumentations")
LABELS = {
    "tensor": torch.tensor([7, 3]),
    "tensor of floats": torch.tensor([0.5, 0.25], dtype=torch.float64),
    "long numbers": torch.tensor([900100581904, 900100581905]),
    "array": np.array([7, 3], dtype=np.int16),
    "list": [7, 3],
    "long list": [2**40 + 1, 2**40 + 3],
    "tuple": (7, 3),
    "texts": ["dog", "cat"],
    "tuple of texts": ("dog", "cat"),
}
BOXES = [[1.0, 2.0, 11.0, 12.0], [3.0, 4.0, 23.0, 14.0]]


def chain(*steps, box_format="pascal_voc", **params):
    return Albumentations(
        album.Compose(
            steps or [album.Resize(40, 60)],
            bbox_params=album.BboxParams(box_format, label_fields=["labels"], **params),
            keypoint_params=album.KeypointParams("xy"),
        )
    )


def picture():
    return Image.fromarray(np.arange(1800, dtype=np.uint8).reshape(20, 30, 3))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("keep", ["all", "first", "none", "none came"])
def test_labels_are_what_they_were(kind, keep):
    labels, boxes = LABELS[kind], torch.tensor(BOXES)
    window = {"all": (0, 0, 30, 20), "first": (0, 0, 3, 20), "none": (28, 16, 30, 20), "none came": (0, 0, 3, 20)}[keep]
    if keep == "none came":
        labels, boxes = labels[:0], boxes[:0]
    kept = {"all": 2, "first": 1}.get(keep, 0)
    made = chain(album.Crop(*window))({"image": picture(), "bboxes": boxes, "labels": labels})
    assert type(made["labels"]) is type(labels)
    assert getattr(made["labels"], "dtype", None) == getattr(labels, "dtype", None)
    assert list(made["labels"]) == list(labels[:kept])
    assert [type(one) for one in made["labels"]] == [type(one) for one in labels[:kept]]


def test_labels_do_not_depend_on_the_samples_before():
    transform = chain(album.HorizontalFlip(p=1.0))
    for kind in (*LABELS, *reversed(LABELS)):
        made = transform({"image": picture(), "bboxes": torch.tensor(BOXES), "labels": LABELS[kind]})
        assert list(made["labels"]) == list(LABELS[kind])


@pytest.mark.parametrize("format_", ["XYXY", "XYWH", "CXCYWH"])
@pytest.mark.parametrize("box_format", ["pascal_voc", "coco"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_boxes_keep_their_class_format_and_type_and_get_the_new_canvas(format_, box_format, dtype):
    from torchvision.transforms.v2.functional import convert_bounding_box_format, resize

    whole = tv.BoundingBoxes(torch.tensor(BOXES, dtype=dtype), format="XYXY", canvas_size=(20, 30))
    boxes = convert_bounding_box_format(whole, new_format=tv.BoundingBoxFormat[format_])
    for given, labels in ((boxes, [1, 2]), (tv.wrap(boxes[:0], like=boxes), [])):
        made = chain(box_format=box_format)({"image": picture(), "bboxes": given, "labels": labels})["bboxes"]
        assert type(made) is tv.BoundingBoxes
        assert (made.format, made.canvas_size, made.dtype) == (boxes.format, (40, 60), dtype)
        assert torch.allclose(made.double(), resize(given, [40, 60]).double(), atol=1e-4)


@pytest.mark.parametrize("kind", ["tensor", "integers", "array", "float16 array", "lists", "tuples", "arrays"])
@pytest.mark.parametrize("left", [2, 0])
def test_boxes_and_points_of_other_kinds(kind, left):
    makers = {
        "tensor": torch.tensor,
        "integers": lambda rows: torch.tensor(rows).to(torch.int32),
        "array": lambda rows: np.array(rows, dtype=np.float32),
        "float16 array": lambda rows: np.array(rows, dtype=np.float16),
        "lists": list,
        "tuples": lambda rows: tuple(map(tuple, rows)),
        "arrays": lambda rows: [np.array(row, dtype=np.float32) for row in rows],
    }
    points = [[4.0, 5.0], [6.0, 7.0]]
    window = (0, 0, 30, 20) if left else (28, 16, 30, 20)
    sample = {"image": picture(), "bboxes": makers[kind](BOXES), "keypoints": makers[kind](points), "labels": [1, 2]}
    made = chain(album.Crop(*window))(sample)
    for name, columns in (("bboxes", 4), ("keypoints", 2)):
        assert type(made[name]) is type(sample[name])
        assert getattr(made[name], "dtype", None) == getattr(sample[name], "dtype", None)
        if hasattr(made[name], "shape"):
            assert tuple(made[name].shape) == (left, columns)
        assert [type(row) for row in made[name]] == [type(row) for row in sample[name]][:left]
        before, after = (np.array([np.asarray(row) for row in one[name]]).ravel() for one in (sample, made))
        assert np.allclose(after, before[: left * columns], atol=0.01)


def test_points_keep_their_class_and_get_the_new_canvas():
    points = tv.KeyPoints(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), canvas_size=(20, 30))
    for given in (points, tv.wrap(points[:0], like=points)):
        made = chain()({"image": picture(), "keypoints": given, "bboxes": [], "labels": []})["keypoints"]
        assert type(made) is tv.KeyPoints
        assert made.canvas_size == (40, 60)
        assert torch.allclose(made, 2 * given)


def test_further_columns_of_boxes_stay():
    boxes = torch.tensor([[*box, float(number)] for number, box in enumerate(BOXES)])
    made = Albumentations(album.Compose([album.HorizontalFlip(p=1.0)], bbox_params=album.BboxParams("pascal_voc")))(
        {"image": picture(), "bboxes": boxes}
    )["bboxes"]
    assert torch.equal(made[:, 4], boxes[:, 4])


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(20, 30), (1, 20, 30), (3, 20, 30)])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_masks_keep_their_class_type_and_axes(dtype, shape, as_tensor):
    import albumentations.pytorch  # noqa: F401 - ToTensorV2 lives there

    values = torch.arange(int(np.prod(shape))).reshape(shape)
    mask = tv.Mask((values % 2 == 0) if dtype is torch.bool else values.remainder(100).to(dtype))
    steps = [album.HorizontalFlip(p=1.0), album.Affine(rotate=(90, 90), p=1.0), album.Resize(20, 30)]
    steps += [album.pytorch.ToTensorV2()] if as_tensor else []
    made = Albumentations(album.Compose(steps))({"image": picture(), "mask": mask})["mask"]
    assert type(made) is tv.Mask
    assert (made.dtype, made.shape) == (dtype, mask.shape)
    flipped = Albumentations(album.Compose([steps[0], *steps[3:]]))({"image": picture(), "mask": mask})["mask"]
    assert torch.equal(flipped, mask.flip(-1))


def test_masks_of_long_integers_are_exact():
    mask = torch.tensor([[2**40, -(2**40) - 1], [70000, 3]])
    made = Albumentations(album.Compose([album.Resize(4, 4)]))({"image": np.zeros((2, 2, 3), np.uint8), "mask": mask})
    assert torch.equal(made["mask"], mask.repeat_interleave(2, 0).repeat_interleave(2, 1))


@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_every_kind_come_out_as_it(channels):
    flip = Albumentations(album.HorizontalFlip(p=1.0))
    pixels = np.arange(600 * channels, dtype=np.uint8).reshape(20, 30, channels)
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)
    for given in (tensor, tv.Image(tensor), tensor.float() / 255):
        made = flip(given)
        assert type(made) is type(given)
        assert torch.equal(made, given.flip(-1))
    assert np.array_equal(flip(pixels), pixels[:, ::-1])
    image = Image.fromarray(pixels.squeeze())
    assert flip(image).mode == image.mode
    assert np.array_equal(np.array(flip(image)), np.array(image)[:, ::-1])


def test_what_the_transform_changes_on_purpose_stays():
    import albumentations.pytorch  # noqa: F401 - ToTensorV2 lives there

    for given in (picture(), tv.Image(torch.zeros(3, 20, 30, dtype=torch.uint8))):
        made = Albumentations(album.Normalize())(given)
        assert (made.dtype, made.shape) == (torch.float32, (3, 20, 30))
        made = Albumentations(album.pytorch.ToTensorV2())(given)
        assert (made.dtype, made.shape) == (torch.uint8, (3, 20, 30))


def test_lists_of_masks_and_further_targets():
    transform = Albumentations(
        album.Compose([album.HorizontalFlip(p=1.0)], additional_targets={"right": "image", "depth": "mask"})
    )
    masks = [tv.Mask(torch.eye(20, 30, dtype=torch.int64)), tv.Mask(torch.ones(20, 30, dtype=torch.int64))]
    right, depth = tv.Image(torch.rand(3, 20, 30)), torch.rand(20, 30)
    made = transform({"image": picture(), "masks": masks, "right": right, "depth": depth, "n": 5})
    assert [type(mask) for mask in made["masks"]] == [tv.Mask, tv.Mask]
    assert torch.equal(made["masks"][0], masks[0].flip(-1))
    assert torch.equal(made["right"], right.flip(-1))
    assert torch.equal(made["depth"], depth.flip(-1))
    assert made["n"] == 5


def test_a_part_that_is_lacking_stays_none():
    transform = chain(album.HorizontalFlip(p=1.0))
    made = transform({"image": picture(), "mask": None, "bboxes": torch.tensor(BOXES), "labels": [1, 2]})
    assert made["mask"] is None
    sample = {"image": None, "bboxes": torch.tensor(BOXES), "labels": [1, 2]}
    assert transform(sample) == sample
    assert transform((None, 3)) == (None, 3)
