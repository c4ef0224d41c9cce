"""Datasets whose attributes are large lists get them shared before they are sent to workers."""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

from torch.utils.data import Dataset

from headrace.datasets.shared.keyed_column import pack_keyed
from headrace.datasets.shared.kinds import kind_of
from headrace.datasets.shared.pack_items import pack_items
from headrace.datasets.shared.packed import Packed
from headrace.datasets.shared.packed_dict import PackedDict
from headrace.datasets.shared.packed_list import PackedList
from headrace.datasets.shared.plain import NotPlainError
from headrace.datasets.shared.savings import PackedAttribute, PackedDataset
from headrace.datasets.shared.share import Per, share
from headrace.datasets.shared.shared_dict import SharedDict, checked_keys
from headrace.datasets.shared.shared_list import SharedList
from headrace.datasets.shared.weigh import weigh
from headrace.errors import OptionError

MIN_BYTES = 1 << 20
"""Lists that take less than this in a process are not worth a block of shared memory."""

DICTS_TIMES = 64
"""Dicts have to take so many times as much as lists. A sample looks once into a list of paths, but into a vocabulary
for each of its words: 1 us there, 30 ns in a plain dict. Workers of a set of texts took three times as long with 3 MB
of it shared."""

MOST_PARTS = 1000
"""Lists, tuples and dicts of up to this length are looked through for datasets, and for longer lists."""

MOST_ITEM_BYTES = 1 << 14
"""Items that are larger on average are not packed, unless they are arrays: they would be made anew with each look."""


def pack_attributes(dataset: Any, *, min_bytes: int = MIN_BYTES, per: Per = "auto") -> PackedDataset:
    """A copy of a dataset whose large lists and dicts lie in shared memory.

    Looked at are the attributes of the dataset, and of datasets inside of it (`Subset.dataset`,
    `ConcatDataset.datasets`, any attribute that is a `torch.utils.data.Dataset`, or a short list, tuple or dict with
    some). A list, or a dict with keys of text, is packed where it holds plain data alone: text, bytes, numbers, None,
    arrays of numbers, and tuples, lists and dicts of those. In its place stands a `PackedList` or `PackedDict`, which
    can be changed: it then becomes a plain one in the process that changes it. Two attributes that are the same list
    become the same shared list.

    The dataset itself, and whatever it holds, is not changed. The copy is shallow: all other attributes are the same
    objects.

    Args:
        dataset: What the user gave to the loader.
        min_bytes: What a list must take at least in a process; a dict 64 times as much.
        per: As for `SharedList`.

    Raises:
        StorageError: No memory for it.
    """
    packing = Packing(min_bytes, per)
    copy = packing.copy(dataset, "")
    attributes = tuple(packing.attributes)
    return PackedDataset(dataset=copy if attributes else dataset, attributes=attributes)


class Packing:
    """One walk over a dataset and the datasets inside of it.

    Args:
        min_bytes: As for `pack_attributes`.
        per: As for `pack_attributes`.
    """

    def __init__(self, min_bytes: int, per: Per) -> None:
        self.min_bytes = min_bytes
        self.per = per
        self.attributes: list[PackedAttribute] = []
        self.seen: dict[int, Any] = {}
        """What has taken the place of each object, by its identity; the walked datasets keep all of them alive."""

    def copy(self, dataset: Any, path: str) -> Any:
        """A dataset with its attributes replaced; the dataset itself where only its class can make another."""
        if id(dataset) in self.seen:
            return self.seen[id(dataset)]
        try:
            copy = object.__new__(type(dataset))
        except TypeError:
            copy = dataset
        self.seen[id(dataset)] = copy
        if copy is not dataset:
            for name, value in getattr(dataset, "__dict__", {}).items():
                copy.__dict__[name] = self.replaced(value, join(path, name))
            for name, value in slots_of(dataset):
                object.__setattr__(copy, name, self.replaced(value, join(path, name)))
        return copy

    def replaced(self, value: Any, path: str) -> Any:
        """What stands in the copy for an attribute."""
        if id(value) in self.seen:
            return self.seen[id(value)]
        if isinstance(value, Dataset):
            return self.copy(value, path)
        if isinstance(value, MethodType) and id(value.__self__) in self.seen:
            # Otherwise the copy would drag the original along.
            return MethodType(value.__func__, self.seen[id(value.__self__)])
        if type(value) in {list, dict, tuple}:
            new = self.with_parts(value, path) if has_parts(value) else self.packed(value, path)
            self.seen[id(value)] = new
            return new
        return value

    def with_parts(self, value: Any, path: str) -> Any:
        """A list, tuple or dict whose parts are replaced one by one; itself where none of them changes."""
        keys = list(value) if type(value) is dict else range(len(value))
        new = {key: self.replaced(value[key], f"{path}[{key!r}]") for key in keys}
        if all(new[key] is value[key] for key in keys):
            return value
        return new if type(value) is dict else type(value)(new.values())

    def packed(self, value: Any, path: str) -> Any:
        """A list or dict in shared memory; itself where it is small, or not plain data."""
        plain_bytes = weigh(value)
        min_bytes = self.min_bytes * (DICTS_TIMES if type(value) is dict else 1)
        if type(value) is tuple or plain_bytes < min_bytes:
            return value
        if plain_bytes > MOST_ITEM_BYTES * len(value) and not is_array_list(value):
            return value
        try:
            packed = pack_dict(value) if type(value) is dict else pack_items(value, plain_only=True)
        except (NotPlainError, OptionError):
            return value
        block = share(packed, self.per)
        attribute = PackedAttribute(
            path=path,
            num_items=len(value),
            plain_bytes=plain_bytes,
            packed_bytes=block.size_bytes,
            layout=block.column.layout,
        )
        self.attributes.append(attribute)
        if type(value) is dict:
            return PackedDict(SharedDict.of_block(block))
        return PackedList(SharedList.of_rows(block, range(len(value))))


def pack_dict(content: dict[Any, Any]) -> Packed:
    """A dict of plain data, packed.

    Raises:
        OptionError: A key that is no text.
        NotPlainError: A value that is no plain data.
    """
    keys = checked_keys(content)
    return pack_keyed(keys, pack_items(content.values(), plain_only=True))


def is_array_list(value: Any) -> bool:
    """Whether a list has only arrays of one shape: an item is a view then, which costs the same however large it is."""
    return type(value) is list and kind_of(value).name == "array"


def has_parts(value: Any) -> bool:
    """Whether a list, tuple or dict is short, and holds datasets or long lists."""
    inside = value.values() if type(value) is dict else value
    return len(value) <= MOST_PARTS and any(
        isinstance(part, Dataset) or (type(part) in {list, dict} and len(part) > MOST_PARTS) for part in inside
    )


def join(path: str, name: str) -> str:
    """The path of an attribute of what has a path."""
    return f"{path}.{name}" if path else name


def slots_of(item: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of the attributes that an object keeps in slots."""
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{slot}" if private else slot
            if name not in {"__dict__", "__weakref__"} and hasattr(item, name):
                yield name, getattr(item, name)
