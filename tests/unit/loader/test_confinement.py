import pytest
from torch.utils.data import ConcatDataset, Dataset, Subset

from headrace.loader.confinement import apart, confined

FREE = {"outlines": ("a", "a", "a"), "holds_files": False, "drew": False}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, None),
        ({"outlines": (None, None)}, None),  # too large to be looked through
        ({"outlines": ("a", "b")}, "changes"),
        ({"outlines": ("a", "b", "a")}, "changes"),  # the last sample leaves what it left in an earlier epoch
        ({"outlines": ("a", "a", None)}, "changes"),  # it has opened something
        ({"holds_files": True}, "open file"),
        ({"drew": True}, "global generators"),
    ],
)
def test_what_speaks_against_threads(change, told):
    found = confined(**(FREE | change))
    assert (found is None) == (told is None)
    assert told is None or told in found


class Opening(Dataset):
    file = None

    def __len__(self):
        return 3

    def __getitem__(self, index):
        self.file = "open"
        return index


@pytest.mark.parametrize(
    "wrap", [lambda one: one, lambda one: Subset(one, [2, 0]), lambda one: ConcatDataset([one, Subset(one, [1])])]
)
def test_what_is_opened_in_a_copy_is_closed_in_the_dataset(wrap):
    dataset = Opening()
    twin = apart(wrap(dataset))
    assert [twin[index] for index in range(len(twin))] == [wrap(dataset)[index] for index in range(len(twin))]
    fresh = Opening()
    list(map(apart(wrap(fresh)).__getitem__, range(2)))
    assert fresh.file is None


class Uncopied(Opening):
    def __copy__(self):
        raise TypeError("there is one of these")


@pytest.mark.parametrize("dataset", [range(3), [1, 2], Uncopied()])
def test_what_cannot_be_copied_stays_itself(dataset):
    assert apart(dataset) is dataset
