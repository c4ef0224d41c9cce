from __future__ import annotations

import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset, random_split
from torchvision.datasets import DatasetFolder, ImageFolder

from headrace import SharedList
from headrace.datasets.shared import pack_attributes
from headrace.datasets.shared.packed_dict import PackedDict
from headrace.datasets.shared.packed_list import PackedList
from headrace.datasets.shared.weigh import weigh

NUM = 20_000


class Folder(Dataset):
    """As torchvision's: three lists, two of which are one."""

    def __init__(self, num=NUM):
        self.samples = [(f"/data/{number:08d}.jpg", number % 10) for number in range(num)]
        self.imgs = self.samples
        self.targets = [label for _, label in self.samples]
        self.class_to_idx = {str(number): number for number in range(10)}

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index], self.targets[index]


def test_large_lists_are_shared_and_the_rest_is_as_it_was():
    folder = Folder()
    before = dict(vars(folder))
    packed = pack_attributes(folder)
    copy = packed.dataset
    assert type(copy) is Folder
    assert [one.path for one in packed.attributes] == ["samples"]
    assert isinstance(copy.samples, PackedList)
    assert copy.imgs is copy.samples
    assert copy.targets is folder.targets  # small integers: 160 kB of pointers
    assert copy.class_to_idx is folder.class_to_idx
    assert all(vars(folder)[name] is value for name, value in before.items())
    assert [copy[index] for index in (0, 7, -1)] == [folder[index] for index in (0, 7, -1)]
    assert len(pickle.dumps(copy)) < len(pickle.dumps(folder)) / 5


def test_what_is_saved_is_told():
    packed = pack_attributes(Folder(), min_bytes=1000)
    samples, targets = packed.attributes
    assert (samples.num_items, samples.layout) == (NUM, "(text, int8)")
    assert (targets.path, targets.layout) == ("targets", "int8")
    assert samples.packed_bytes < samples.plain_bytes / 4
    assert packed.saved_bytes(4) == 4 * packed.plain_bytes - packed.packed_bytes
    assert packed.explain(4).startswith("samples (20,000 items), targets (20,000 items): ")
    assert "shared by 4 workers instead of" in packed.explain(4)
    assert packed.saved_bytes(0) == 0


def test_a_dataset_without_large_lists_is_sent_as_it_is():
    folder = Folder(10)
    packed = pack_attributes(folder)
    assert packed.dataset is folder
    assert packed.explain(4) is None
    tensors = torch.utils.data.TensorDataset(torch.zeros(10))
    assert pack_attributes(tensors).dataset is tensors


def test_torchvision(photographs):
    dataset = ImageFolder(str(photographs))
    packed = pack_attributes(dataset, min_bytes=2000)
    assert [one.path for one in packed.attributes] == ["samples"]
    assert packed.dataset.imgs is packed.dataset.samples
    assert packed.dataset[7][1] == dataset[7][1]
    assert repr(packed.dataset) == repr(dataset)
    assert isinstance(packed.dataset, DatasetFolder)
    assert isinstance(dataset.samples, list)


def test_datasets_inside_of_datasets():
    folder, other = Folder(), Folder()
    joined = ConcatDataset([Subset(folder, list(range(0, 10, 3))), Subset(other, list(range(NUM))), folder])
    packed = pack_attributes(joined, min_bytes=100_000)
    paths = [one.path for one in packed.attributes]
    assert paths == [
        "datasets[0].dataset.samples",
        "datasets[0].dataset.targets",
        "datasets[1].dataset.samples",
        "datasets[1].dataset.targets",
        "datasets[1].indices",
    ]
    copy = packed.dataset
    assert copy.datasets[0].dataset is copy.datasets[2]
    assert len(copy) == len(joined)
    assert [copy[index] for index in (0, 5, -1)] == [joined[index] for index in (0, 5, -1)]
    assert joined.datasets[0].dataset is folder
    assert isinstance(folder.samples, list)


def test_random_split():
    first, second = random_split(Folder(), [0.5, 0.5])
    packed = pack_attributes(first, min_bytes=10_000)
    assert {one.path for one in packed.attributes} == {"dataset.samples", "dataset.targets", "indices"}
    assert packed.dataset[3] == first[3]
    assert packed.dataset.__getitems__([1, 2]) == first.__getitems__([1, 2])
    assert second.dataset is first.dataset


class Odd(Folder):
    """Attributes that must be left alone, and ways to reach the lists that must not be overlooked."""

    __slots__ = ("slotted",)

    def __init__(self):
        super().__init__()
        self.slotted = [str(number) * 5 for number in range(NUM)]
        self.by_name = {f"name {number}": (number, 0.5) for number in range(NUM)}
        self.by_number = {number: str(number) for number in range(NUM)}
        self.ordered = OrderedDict((str(number), number) for number in range(NUM))
        self.objects = [object() for _ in range(NUM)]
        self.functions = [lambda: 0] * NUM
        self.read = self.__getitem__
        self.myself = self
        self.parts = {"one": Folder(), "two": 2}


def test_what_is_packed_and_what_is_not():
    odd = Odd()
    assert pack_attributes(odd, min_bytes=100_000).dataset.by_name is odd.by_name, "a dict has to be far larger"
    packed = pack_attributes(odd, min_bytes=4_000)
    copy = packed.dataset
    assert {one.path for one in packed.attributes} == {
        "samples",
        "targets",
        "slotted",
        "by_name",
        "parts['one'].samples",
        "parts['one'].targets",
    }
    assert isinstance(copy.by_name, PackedDict)
    assert copy.by_name == odd.by_name
    assert list(copy.slotted) == odd.slotted
    for name in ("by_number", "ordered", "objects", "functions"):
        assert getattr(copy, name) is getattr(odd, name)
    assert copy.myself is copy
    assert copy.read.__self__ is copy
    assert copy.read(3) == odd[3]
    assert odd.read.__self__ is odd


class Inside(Dataset):
    """Lists inside of short dicts, lists and tuples; items that are too large to be made anew; circles."""

    __slots__ = ("__private",)

    def __init__(self):
        names = [f"{number:050d}" for number in range(NUM)]
        self.splits = {"train": names, "val": [name[::-1] for name in names], 3: "three"}
        self.pair = ([*names], 7)
        self.rows = [[*names], [1, 2]]
        self.same = names
        self.long_texts = ["a" * 100_000] * 100
        self.arrays = [np.zeros(100_000, np.uint8) for _ in range(50)]
        self.circle = []
        self.circle.append(self.circle)
        self.circles = [self.circle] * NUM
        self.short = [{}, [1]]
        self.__private = [*names]

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        return self.splits["train"][index], self.__private[index]


def test_lists_inside_of_short_containers_and_items_that_are_large():
    inside = Inside()
    packed = pack_attributes(inside)
    copy = packed.dataset
    assert {one.path for one in packed.attributes} == {
        "splits['train']",
        "splits['val']",
        "pair[0]",
        "rows[0]",
        "arrays",
        "_Inside__private",
    }
    assert copy.same is copy.splits["train"]
    assert type(copy.pair) is tuple
    assert type(copy.rows) is list
    assert copy.pair == inside.pair
    assert copy.rows == inside.rows
    assert copy.splits == inside.splits
    assert copy[7] == inside[7]
    for name in ("long_texts", "circle", "circles", "short"):
        assert getattr(copy, name) is getattr(inside, name)
    assert type(inside.splits["train"]) is list


class Shadowed(Folder):
    """A property of the name of an attribute."""

    def __init__(self):
        super().__init__()
        self.__dict__["hidden"] = [name for name, _ in self.samples]

    @property
    def hidden(self):
        return len(self.__dict__["hidden"])


def test_attributes_behind_a_property():
    copy = pack_attributes(Shadowed(), min_bytes=100_000).dataset
    assert isinstance(vars(copy)["hidden"], PackedList)
    assert copy.hidden == NUM


class OwnSetter(Folder):
    def __setattr__(self, name, value):
        if getattr(self, "closed", False):
            raise AttributeError("closed")
        super().__setattr__(name, value)


def test_a_dataset_that_guards_its_attributes():
    dataset = OwnSetter()
    dataset.closed = True
    assert isinstance(pack_attributes(dataset).dataset.samples, PackedList)


class FromC(dict):
    pass


def test_a_dataset_that_only_its_class_can_copy_is_sent_as_it_is():
    dataset = FromC()
    dataset.samples = [str(number) * 10 for number in range(NUM)]
    assert pack_attributes(dataset).dataset is dataset


class Counting(Folder):
    """Writes into its lists while it is read, as caches do."""

    def __init__(self):
        super().__init__()
        self.cache = [None] * 200_000
        self.seen = {f"{name}": 0 for name, _ in self.samples}

    def __getitem__(self, index):
        name, label = self.samples[index]
        self.seen[name] += 1
        if self.cache[index] is None:
            self.cache[index] = np.full(3, label)
        self.targets.append(label)
        return self.cache[index]


def test_a_dataset_that_changes_its_lists_goes_on_working():
    dataset = Counting()
    copy = pack_attributes(dataset, min_bytes=100_000).dataset
    assert isinstance(copy.cache, PackedList)
    assert copy[7].tolist() == [7, 7, 7]
    assert copy.cache[7].tolist() == [7, 7, 7]
    assert copy.seen["/data/00000007.jpg"] == 1
    assert len(copy.targets) == NUM + 1
    assert dataset.cache[7] is None
    assert len(dataset.targets) == NUM


@pytest.fixture
def packed_list():
    return PackedList(SharedList([3, 1, 2]))


def test_a_packed_list_does_what_lists_do(packed_list):
    assert packed_list == [3, 1, 2]
    assert packed_list[1:] == [1, 2]
    assert type(packed_list[1:]) is list
    four = [4]
    assert packed_list + four == [3, 1, 2, 4]
    assert four + packed_list == [4, 3, 1, 2]
    assert packed_list + packed_list == packed_list * 2 == 2 * packed_list == [3, 1, 2] * 2
    assert sorted(packed_list) == [1, 2, 3]
    assert np.asarray(packed_list).tolist() == [3, 1, 2]
    assert torch.tensor(packed_list).tolist() == [3, 1, 2]
    assert isinstance(packed_list.items, SharedList)
    packed_list.sort(reverse=True)
    packed_list += [0]
    packed_list[0], packed_list[1:2] = 9, []
    del packed_list[1]
    packed_list.insert(0, 5)
    assert packed_list == [5, 9, 0]
    assert packed_list == PackedList(SharedList([5, 9, 0]))
    assert packed_list.copy() == [5, 9, 0]
    assert pickle.loads(pickle.dumps(packed_list)) == [5, 9, 0]
    with pytest.raises(TypeError, match='"int"'):
        packed_list + 3


def test_changing_a_copy_of_a_packed_list_leaves_the_list(packed_list):
    from copy import copy

    changed = copy(packed_list)
    changed.append(4)
    again = copy(changed)
    again.append(5)
    assert (len(packed_list), len(changed), len(again)) == (3, 4, 5)


def test_a_packed_dict_does_what_dicts_do():
    from copy import copy

    from headrace import SharedDict

    packed = PackedDict(SharedDict({"a": 1, "b": 2}))
    assert packed == {"a": 1, "b": 2}
    assert "a" in packed
    assert packed | {"c": 3} == {"a": 1, "b": 2, "c": 3}
    assert {"a": 0} | packed == {"a": 1, "b": 2}
    assert list(reversed(packed)) == ["b", "a"]
    assert list(packed.values()) == [1, 2]
    assert packed.copy() == dict(packed.items())
    assert isinstance(packed.content, SharedDict)
    other = copy(packed)
    other["c"] = 3
    del other["a"]
    assert other == {"b": 2, "c": 3}
    assert packed == PackedDict(SharedDict({"a": 1, "b": 2}))
    assert other.setdefault("d", 4) == 4
    assert other.pop("d") == 4
    assert pickle.loads(pickle.dumps(other)) == {"b": 2, "c": 3}


def test_weights():
    assert weigh([]) == 56
    texts = [f"{number:0100d}" for number in range(1000)]
    assert weigh(texts) == pytest.approx(1000 * (8 + 49 + 100), rel=0.02)
    assert weigh([(text, 1000 + place) for place, text in enumerate(texts)]) == pytest.approx(
        1000 * (8 + 56 + 149 + 28), rel=0.05
    )
    assert weigh([1] * 1000) == pytest.approx(8000, rel=0.02)
    assert weigh([np.zeros(1000)] * 10) == pytest.approx(10 * 8112, rel=0.05)
    assert weigh({text: text for text in texts}) > weigh(texts) * 1.9
