"""What is fused of a transform of whole samples, and why the rest is not."""

import pytest
import torch
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.recipes import compile_transform
from headrace.recipes.joint import Member, SampleForm
from headrace.recipes.joint.effects import labels_of_boxes
from headrace.recipes.joint.steps import Retype, Sanitize

NAMES = ("image", "mask", "boxes", "points", "labels")
FORM = SampleForm(
    num_leaves=5,
    images=(0,),
    build=lambda leaves: dict(zip(NAMES, leaves, strict=True)),
    members={1: Member(kind="mask"), 2: Member(kind="boxes"), 3: Member(kind="keypoints")},
)
AS_TUPLE = SampleForm(num_leaves=5, images=(0,), build=tuple, members=FORM.members)
TWO_IMAGES = SampleForm(num_leaves=2, images=(0, 1), build=tuple)
TABLE = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64}


def compiled(*ops, form=FORM):
    return compile_transform(v2.Compose(list(ops)), sample=form)


def reason(recipe, number):
    place = recipe.explain[number]
    assert place.place == "python", recipe.explain
    return place.reason


def test_steps_are_read_in_order():
    recipe = compiled(
        v2.RandomResizedCrop(8), v2.SanitizeBoundingBoxes(min_size=2), v2.ToImage(), v2.ToDtype(torch.float32)
    )
    assert recipe.is_fused
    assert [type(step).__name__ for step in recipe.prefix.steps] == ["RandomResizedCrop", "Sanitize"]
    assert recipe.prefix.steps[1] == Sanitize(min_size=2.0, min_area=1.0, labels=(4,))


def test_a_table_of_types_is_read_for_the_kinds_that_there_are():
    recipe = compiled(v2.ToImage(), v2.ToDtype({**TABLE, "others": None}))
    assert recipe.prefix.steps == (Retype(mask=torch.int64),)


@pytest.mark.parametrize(
    ("ops", "number", "words"),
    [
        ([v2.ToImage(), v2.ToDtype(TABLE)], 1, "says nothing of"),
        ([v2.ConvertBoundingBoxFormat("CXCYWHR")], 0, "rotated"),
        ([v2.SanitizeBoundingBoxes(labels_getter=lambda _sample: torch.zeros(2))], 0, "not leaves"),
        ([v2.Resize(8, interpolation="nearest-exact")], 0, "nearest-exact"),
        ([v1.Resize(8), v2.ToImage()], 0, "v1"),
        ([v2.ToImage(), v2.ToPureTensor(), v2.CenterCrop(8)], 2, "pure tensors"),
        ([v2.ToImage(), v2.ToDtype({**TABLE, "others": None}), v2.Resize(8)], 2, "8-bit|types were changed"),
        ([v2.RandomZoomOut()], 0, "not a transform"),
        ([v2.RandomIoUCrop(0.5, 1.5)], 0, "within 0 and 1"),
        ([v2.RandomIoUCrop(sampler_options=[])], 0, "must not be empty"),
        ([v2.Resize(8), v2.RandomIoUCrop(), v2.ColorJitter()], 1, "resized before"),
        ([v2.ClampBoundingBoxes(), v2.RandomIoUCrop(), v2.ColorJitter()], 1, "changed before"),
        ([v2.RandomIoUCrop(), v2.Resize(8), v2.ColorJitter()], 1, "shorter edge"),
        ([v2.RandomIoUCrop(), v2.RandomCrop(8), v2.ColorJitter()], 1, "second crop"),
    ],
)
def test_what_is_not_fused_has_its_reason(ops, number, words):
    recipe = compiled(*ops)
    assert any(part in reason(recipe, number) for part in words.split("|")), recipe.explain


def test_boxes_are_sanitised_a_second_time_in_a_span_of_its_own():
    recipe = compiled(v2.SanitizeBoundingBoxes(), v2.CenterCrop(8), v2.SanitizeBoundingBoxes())
    assert [len(recipe.prefix.ops), len(recipe.middle), len(recipe.suffix.ops)] == [2, 0, 1]


def test_only_the_first_of_two_pure_tensors_would_be_an_image():
    for conversion in ([v2.PILToTensor()], [v2.ToImage(), v2.ToPureTensor()]):
        recipe = compiled(*conversion, v2.RandomHorizontalFlip(), form=TWO_IMAGES)
        assert "pure tensors" in reason(recipe, len(conversion))


def test_torchvisions_default_finds_no_labels_in_a_tuple():
    assert "labels_getter" in reason(compiled(v2.SanitizeBoundingBoxes(), form=AS_TUPLE), 0)


def test_labels_of_any_getter_are_found():
    two = v2.SanitizeBoundingBoxes(labels_getter=lambda sample: (sample["labels"],))
    none = v2.SanitizeBoundingBoxes(labels_getter=None)
    assert labels_of_boxes(compiled(two).ops, FORM) == {4}
    assert labels_of_boxes(compiled(none).ops, FORM) == set()
