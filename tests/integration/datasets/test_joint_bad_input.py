"""Whole samples with something wrong in them: named errors, torchvision's own behaviour, rows that stay even."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.datasets.policy import Policy
from headrace.errors import CollateError, CorruptImageError, DecodeError, TransformError
from tests.encoded_images import encode
from tests.joint_samples import joint_shape, keys_of, make_sample, run_program

CROP = v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToImage()])
SKIP = Policy(on_error="skip")


def samples_of(num=4):
    return [make_sample(60, 50, 2, row) for row in range(num)]


def other_mask(height, width):
    return encode(Image.fromarray(np.ones((height, width), np.uint8)), "PNG")


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("names", [("image", "mask"), ("image", "second"), ("image", "mask", "boxes", "labels")])
def test_members_of_another_size_are_named(fuse, names):
    samples = samples_of()
    file = "depth.png" if "second" in names else "seg.png"
    samples[2].files[file] = encode(Image.new("RGB" if "second" in names else "L", (51, 60)), "PNG")
    with pytest.raises(TransformError) as caught:
        run_program(samples, joint_shape(*names), CROP, keys_of(4), fuse=fuse)
    assert caught.value.where["shard"] == "a.tar"
    assert caught.value.where["key"] == "k2"
    assert caught.value.where["field"] == names[1]
    assert "60 x 51" in str(caught.value)
    assert "60 x 50" in str(caught.value)


@pytest.mark.parametrize("fuse", [True, False])
def test_a_resize_alone_takes_members_of_any_size_as_torchvision_does(fuse):
    samples = samples_of()
    samples[2].files["seg.png"] = other_mask(31, 17)
    transform = v2.Compose([v2.Resize((24, 20)), v2.ToImage()])
    batch = run_program(samples, joint_shape("image", "mask"), transform, keys_of(4), policy=Policy(), fuse=fuse).batch
    assert batch["mask"].shape == (4, 24, 20)
    assert batch["mask"][2].unique().tolist() == [1]


@pytest.mark.parametrize("fuse", [True, False])
def test_a_bad_row_repeats_a_good_one_in_every_leaf(fuse):
    samples = samples_of()
    samples[1].files["seg.png"] = other_mask(3, 3)
    samples[3].files["jpg"] = b"no image"
    result = run_program(samples, joint_shape("image", "mask"), CROP, keys_of(4), policy=SKIP, fuse=fuse)
    assert result.valid.tolist() == [True, False, True, False]
    for row in (1, 3):
        twins = [
            good
            for good in (0, 2)
            if torch.equal(result.batch["image"][row], result.batch["image"][good])
            and torch.equal(result.batch["mask"][row], result.batch["mask"][good])
        ]
        assert twins


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("python", [False, True])
def test_a_batch_without_a_good_row_is_zeros_of_the_usual_shapes(fuse, python):
    samples = samples_of()
    for sample in samples:
        sample.files["jpg"] = b"no image"
    shape = joint_shape("image", "mask", "boxes", "labels")
    steps = [v2.RandomResizedCrop(24), *([v2.ColorJitter(0.1)] if python else []), v2.SanitizeBoundingBoxes()]
    policy = Policy(on_error="skip", leaf_rules={"boxes": "list", "labels": "list"}, rules=Policy().rules)
    result = run_program(samples, shape, v2.Compose([*steps, v2.ToImage()]), keys_of(4), policy=policy, fuse=fuse)
    assert not result.valid.any()
    assert result.batch["image"].shape == (4, 3, 24, 24)
    assert result.batch["mask"].shape == (4, 24, 24)
    assert not result.batch["image"].any()
    assert not result.batch["mask"].any()
    assert [tuple(boxes.shape) for boxes in result.batch["boxes"]] == [(0, 4)] * 4


def test_a_batch_without_a_good_row_of_samples_that_a_transform_reshaped():
    samples = samples_of()
    for sample in samples:
        sample.files["jpg"] = b"no image"

    def pair(sample):
        return {"x": v2.functional.pil_to_tensor(v2.functional.resize(sample["image"], [8, 8])), "y": 1}

    result = run_program(samples, joint_shape("image", "mask"), pair, keys_of(4), policy=SKIP)
    assert not result.valid.any()
    assert result.batch["x"].shape == (4, 3, 8, 8)
    assert result.batch["y"].tolist() == [0] * 4


def test_where_nothing_can_stand_in_the_fault_is_raised():
    samples = samples_of(2)
    for sample in samples:
        sample.files["jpg"] = b"no image"

    def refuse(_sample):
        raise ValueError("never")

    with pytest.raises(Exception, match="no image"):
        run_program(samples, joint_shape("image", "mask"), refuse, keys_of(2), policy=SKIP)


@pytest.mark.parametrize("fuse", [True, False])
def test_boxes_outside_are_clamped_and_sanitised_and_none_are_no_fault(fuse):
    samples = samples_of(3)
    samples[0].files["boxes.json"] = b"[]"
    samples[0].files["labels.npy"] = npy(np.zeros(0, np.int64))
    samples[1].files["boxes.json"] = b"[[-30, -30, -5, -5], [10, 10, 400, 300]]"
    transform = v2.Compose([v2.CenterCrop((40, 50)), v2.SanitizeBoundingBoxes(), v2.ToImage()])
    shape = joint_shape("image", "boxes", "labels")
    made = run_program(samples, shape, transform, keys_of(3), fuse=fuse).batch
    assert made[0]["boxes"].shape == (0, 4)
    assert made[1]["boxes"].tolist() == [[10, 0, 50, 40]]
    assert made[1]["labels"].tolist() == [11]


@pytest.mark.parametrize("fuse", [True, False])
def test_labels_that_are_not_one_a_box_are_named(fuse):
    samples = samples_of(3)
    samples[1].files["labels.npy"] = npy(np.zeros(5, np.int64))
    transform = v2.Compose([v2.CenterCrop((40, 50)), v2.SanitizeBoundingBoxes(), v2.ToImage()])
    with pytest.raises(TransformError, match=r"Number of boxes.*") as caught:
        run_program(samples, joint_shape("image", "boxes", "labels"), transform, keys_of(3), fuse=fuse)
    assert caught.value.where["key"] == "k1"


def test_boxes_that_are_none_are_named():
    samples = samples_of(3)
    samples[1].files["boxes.json"] = b"[[1, 2, 3]]"
    with pytest.raises(DecodeError) as caught:
        run_program(samples, joint_shape("image", "boxes"), CROP, keys_of(3))
    assert (caught.value.where["key"], caught.value.where["field"]) == ("k1", "boxes")


def test_an_image_that_is_damaged_is_named():
    samples = samples_of(3)
    samples[1].files["jpg"] = samples[1].files["jpg"][:200]
    with pytest.raises(CorruptImageError) as caught:
        run_program(samples, joint_shape("image", "mask"), CROP, keys_of(3))
    assert (caught.value.where["key"], caught.value.where["field"]) == ("k1", "image")


@pytest.mark.parametrize("fuse", [True, False])
def test_fields_that_lack_where_that_is_allowed_are_none(fuse):
    samples = samples_of(3)
    del samples[1].files["seg.png"]
    policy = Policy(missing="none", collate_fn=list)
    made = run_program(samples, joint_shape("image", "mask"), CROP, keys_of(3), policy=policy, fuse=fuse).batch
    assert made[1]["mask"] is None
    assert made[1]["image"].shape == (3, 24, 24)
    assert made[0]["mask"].shape == (24, 24)


def test_views_of_different_shapes_in_one_tensor_are_named():
    from headrace.recipes.views import Views

    samples = [make_sample(60, 50 + row, 2, row) for row in range(3)]
    transform = Views((v2.Compose([v2.Resize(30), v2.ToImage()]), 2))
    with pytest.raises(CollateError) as caught:
        run_program(samples, joint_shape("image", "mask"), transform, keys_of(3), policy=Policy())
    assert caught.value.where["field"] == "image"
    assert caught.value.where["key"] == "k1"
    assert caught.value.where["shard"] == "a.tar"


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_samples_of_two_float_types_are_one_batch_each_as_torchvision_makes_it():
    """A Python part that gives some rows another box format leaves those rows to torchvision."""
    samples = samples_of(4)

    def convert_some(sample):
        if sample["labels"][0] in (10, 30):
            sample["boxes"] = v2.functional.convert_bounding_box_format(sample["boxes"], new_format="XYWH")
        return sample

    transforms = [convert_some, v2.CenterCrop((40, 40)), v2.ToImage()]
    shape = joint_shape("image", "mask", "boxes", "labels")
    fused = run_program(samples, shape, v2.Compose(transforms), keys_of(4)).batch
    plain = run_program(samples, shape, v2.Compose(transforms), keys_of(4), fuse=False).batch
    for one, other in zip(fused, plain, strict=True):
        torch.testing.assert_close(one["boxes"], other["boxes"])
        assert torch.equal(one["image"], other["image"])
        assert torch.equal(one["mask"], other["mask"])
        assert not isinstance(one["boxes"], tv_tensors.BoundingBoxes)
