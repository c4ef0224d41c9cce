from __future__ import annotations

import pickle

import pytest
import torch
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

from headrace.contracts import ImageLimits
from headrace.errors import OptionError
from headrace.recipes import compile_transform
from headrace.recipes.geometry import CenterCrop, Flip, RandomResizedCrop, Resize


def shout(image):
    return image


def places(transform, **options):
    return [(op.op, op.place) for op in compile_transform(transform, **options).explain]


def reason(transform, name, **options):
    return next(op.reason for op in compile_transform(transform, **options).explain if op.op == name)


def test_usual_training_transform_is_one_pass():
    recipe = compile_transform(
        v2.Compose(
            [
                v2.RandomResizedCrop(224, scale=(0.2, 1.0)),
                v2.RandomHorizontalFlip(0.3),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
            ]
        )
    )
    assert recipe.is_fused
    assert recipe.whole_sample
    crop = RandomResizedCrop(height=224, width=224, scale=(0.2, 1.0), ratio=(3 / 4, 4 / 3), filter=2, op=0)
    assert recipe.prefix.geometry.crop == crop
    assert recipe.prefix.geometry.flip == Flip(probability=0.3, op=1)
    assert recipe.prefix.table.dtype is torch.float32
    assert {op.place for op in recipe.explain} == {"fused"}


def test_usual_evaluation_transform_is_one_pass():
    recipe = compile_transform(v1.Compose([v1.Resize(256), v1.CenterCrop(224), v1.ToTensor()]))
    assert recipe.is_fused
    assert not recipe.whole_sample
    assert recipe.prefix.geometry.resize == Resize(height=256, width=0, filter=2)
    assert recipe.prefix.geometry.crop == CenterCrop(height=224, width=224)


def test_no_transform_only_decodes():
    recipe = compile_transform(None)
    assert recipe.is_fused
    assert recipe.explain == ()


def test_python_op_splits_into_head_and_tail():
    transform = v1.Compose(
        [v1.RandomResizedCrop(32), shout, v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize([0.5], [0.5])]
    )
    recipe = compile_transform(transform)
    assert [op.name for op in recipe.prefix.ops] == ["RandomResizedCrop"]
    assert [op.name for op in recipe.middle] == ["shout"]
    assert [op.name for op in recipe.suffix.ops] == ["RandomHorizontalFlip", "ToTensor", "Normalize"]
    assert recipe.suffix.geometry.flip == Flip(probability=0.5, op=2)
    assert [op.position for op in recipe.ops] == [0, 1, 2, 3, 4]


def test_known_op_between_python_ops_stays_in_python():
    transform = v1.Compose([v1.ColorJitter(), v1.CenterCrop(8), v1.ColorJitter(), v1.ToTensor()])
    assert places(transform) == [
        ("ColorJitter", "python"),
        ("CenterCrop", "python"),
        ("ColorJitter", "python"),
        ("ToTensor", "fused"),
    ]
    assert "between" in reason(transform, "CenterCrop")


def test_second_crop_starts_a_second_pass():
    transform = v1.Compose([v1.CenterCrop(64), v1.RandomCrop(32), v1.ToTensor()])
    recipe = compile_transform(transform)
    assert [len(recipe.prefix.ops), len(recipe.middle), len(recipe.suffix.ops)] == [1, 0, 2]
    assert not recipe.is_fused


def test_flip_moves_past_values():
    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.RandomHorizontalFlip()])
    assert compile_transform(transform).is_fused


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (v2.Compose([v2.ToImage(), v2.Resize(32, interpolation=3)]), "another algorithm"),
        (v2.Compose([v2.ToImage(), v2.Resize(32, interpolation=0)]), "another algorithm"),
        (v2.Compose([v2.ToImage(), v2.Resize(32, antialias=False)]), "without antialias"),
        (v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.Resize(32)]), "no longer the 8-bit"),
        (v2.Resize(32, interpolation=1), "filters"),
        (v2.Resize(None, max_size=50), "longer edge"),
        (v1.Resize(32, max_size=32), "greater than size"),
        (v1.Resize((3, 4), max_size=32), "one size only"),
    ],
)
def test_resizes_that_stay_in_python_say_why(transform, text):
    assert text in reason(transform, "Resize")


def test_exact_leaves_resampling_of_tensors_alone_but_not_their_crops():
    assert "exact" in reason(v2.Compose([v2.ToImage(), v2.Resize(32)]), "Resize", fuse="exact")
    cropped = v2.Compose([v2.ToImage(), v2.CenterCrop(32), v2.RandomHorizontalFlip()])
    assert compile_transform(cropped, fuse="exact").is_fused
    assert compile_transform(v2.Compose([v2.Resize(32), v2.ToImage()]), fuse="exact").is_fused


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (v1.RandomCrop(8, padding=2), "pad"),
        (v2.RandomCrop(8, pad_if_needed=True), "pad"),
        (v2.Normalize([0.5], [0.5]), "refused by torchvision"),
        (v2.ToDtype({v2.functional.to_image: torch.float32}), "table of types"),
        (v2.Grayscale(), "not a transform"),
    ],
)
def test_ops_that_stay_in_python_say_why(op, text):
    assert text in reason(v2.Compose([op]), type(op).__name__)


def test_values_of_eight_bytes_stay_in_python():
    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float64)])
    assert places(transform) == [("ToImage", "fused"), ("ToDtype", "python")]
    assert "float64" in reason(transform, "ToDtype")


def test_tail_on_values_that_are_no_pixels_is_not_fused():
    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.RandomErasing(), v2.RandomHorizontalFlip()])
    assert places(transform)[-1] == ("RandomHorizontalFlip", "python")
    assert "no longer the 8-bit" in reason(transform, "RandomHorizontalFlip")


def test_subclass_of_a_known_op_is_not_known():
    class Mine(v1.CenterCrop):
        def forward(self, img):
            return super().forward(img)

    assert places(v1.Compose([Mine(8)])) == [("Mine", "python")]


def test_known_op_with_a_hook_or_forward_of_its_own_is_not_known():
    hooked, patched = v1.CenterCrop(8), v1.CenterCrop(8)
    hooked.register_forward_hook(lambda *_: None)
    patched.forward = shout
    assert places(v1.Compose([hooked, patched])) == [("CenterCrop", "python"), ("CenterCrop", "python")]


def test_nested_containers_count_flat():
    inner = v2.Compose([v2.RandomHorizontalFlip(), v2.ToImage()])
    recipe = compile_transform(nn.Sequential(v2.CenterCrop(8), nn.Sequential(inner)))
    assert [(op.position, op.name) for op in recipe.ops] == [
        (0, "CenterCrop"),
        (1, "RandomHorizontalFlip"),
        (2, "ToImage"),
    ]
    assert recipe.prefix.geometry.flip.op == 1


def test_unfused_recipe_keeps_every_op_in_python():
    recipe = compile_transform(v1.Compose([v1.CenterCrop(8), v1.ToTensor()]), fuse=False)
    assert not recipe.is_fused
    assert [op.reason for op in recipe.explain] == ["fuse=False", "fuse=False"]


@pytest.mark.parametrize(
    ("transform", "whole"),
    [
        (None, False),
        (v1.Compose([shout]), False),
        (v1.CenterCrop(3), False),
        (v2.CenterCrop(3), True),
        (v2.Compose([v1.CenterCrop(3)]), True),
        (shout, True),
        (nn.Sequential(v1.CenterCrop(3)), False),
        (nn.Sequential(v2.CenterCrop(3)), True),
    ],
)
def test_who_gets_the_whole_sample(transform, whole):
    assert compile_transform(transform).whole_sample is whole


@pytest.mark.parametrize(
    "options", [{"fuse": "exakt"}, {"memory_format": "NCHW"}, {"exif": True}], ids=["fuse", "memory_format", "exif"]
)
def test_options_that_are_not_accepted(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        compile_transform(None, **options)


def test_transform_that_cannot_be_called():
    with pytest.raises(OptionError, match="callable"):
        compile_transform(v1.Compose([3]))


def test_compiling_leaves_the_transform_as_it_was():
    normalize = v1.Normalize([0.5] * 3, [0.5] * 3, inplace=True)
    crop = v1.RandomResizedCrop(8)
    before = dict(vars(crop))
    compile_transform(v1.Compose([crop, v1.ToTensor(), normalize]))
    assert vars(crop) == before
    assert type(crop) is v1.RandomResizedCrop


def test_recipe_goes_through_pickle():
    recipe = compile_transform(
        v2.Compose([v2.RandomResizedCrop(8), v2.RandomHorizontalFlip(), v2.ToImage()]), limits=ImageLimits(pixels=5)
    )
    again = pickle.loads(pickle.dumps(recipe))
    assert again.explain == recipe.explain
    assert again.prefix.geometry == recipe.prefix.geometry
    assert again.limits.pixels == 5
