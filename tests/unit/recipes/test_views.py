import numpy as np
import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

import headrace as hr
from headrace._base.hashing import sample_keys
from headrace.errors import OptionError
from headrace.recipes.randomness import sample_randomness
from headrace.recipes.views import view_keys
from tests.encoded_images import photograph

LARGE, SMALL = v2.RandomResizedCrop(24), v2.RandomResizedCrop(8)


def test_pairs_and_lone_transforms_are_counted():
    views = hr.Views((LARGE, 2), SMALL)
    assert len(views) == 3
    assert views.transforms == (LARGE, LARGE, SMALL)


@pytest.mark.parametrize("views", [(), ((LARGE, 0),), ((LARGE, True),), (3,), ((LARGE, 2, 1),)])
def test_what_is_no_view_is_refused(views):
    with pytest.raises(OptionError):
        hr.Views(*views)


def test_a_bare_image_becomes_a_tuple():
    made = hr.Views((LARGE, 2), (SMALL, 3))(photograph(40, 50))
    assert [image.size for image in made] == [(24, 24)] * 2 + [(8, 8)] * 3


def test_what_moves_is_one_a_view_and_the_rest_is_there_once():
    mask = tv_tensors.Mask(torch.zeros(40, 50, dtype=torch.uint8))
    made = hr.Views((LARGE, 2))({"image": photograph(40, 50), "mask": mask, "label": 3, "text": "x"})
    assert (len(made["image"]), len(made["mask"]), made["label"], made["text"]) == (2, 2, 3, "x")


def test_labels_that_lose_entries_are_one_a_view():
    boxes = tv_tensors.BoundingBoxes([[0.0, 0, 40, 30], [1, 1, 1, 1]], format="XYXY", canvas_size=(40, 50))
    sample = {"image": photograph(40, 50), "boxes": boxes, "labels": torch.tensor([4, 5])}
    made = hr.Views((v2.SanitizeBoundingBoxes(), 2))(sample)
    assert [labels.tolist() for labels in made["labels"]] == [[4], [4]]


def test_views_have_keys_of_their_own_and_the_first_the_samples():
    keys = sample_keys(0, 1, np.arange(50))
    seen = [view_keys(keys, view) for view in range(8)]
    assert seen[0] is keys
    assert len(set(np.concatenate(seen).tolist())) == 8 * 50


def test_numbers_of_a_view_follow_the_sample():
    views = hr.Views((lambda _image: hr.rng().random(), 3))
    with sample_randomness(7):
        first = views(photograph(8, 8))
    with sample_randomness(7):
        assert views(photograph(8, 8)) == first
    assert len(set(first)) == 3
