"""A dict with keys of text in memory that many processes share."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from headrace._base.units import count, format_bytes
from headrace.contracts import I64
from headrace.datasets.shared.block import Block
from headrace.datasets.shared.keyed_column import KeyedColumn, pack_keyed
from headrace.datasets.shared.pack_items import pack_items
from headrace.datasets.shared.packed import Packed
from headrace.datasets.shared.share import Per, share, share_once
from headrace.errors import OptionError

V = TypeVar("V")

AT_ONCE = 1024
"""Items that iteration reads together."""
NUM_SHOWN = 3


class SharedDict(Mapping[str, V], Generic[V]):
    """A dict that does not change, kept once for all worker processes, and for all ranks of a node.

    Reads like a Python dict whose keys are text: look-up, `get`, `in`, iteration in the order of insertion, `items`,
    `==`. A key is found through a table in the same shared memory. Values are kept as the items of a `SharedList` are,
    and a dict is sent to other processes as one.

    Args:
        items: A mapping, or pairs of key and value; of equal keys the last one counts.
        per: As for `SharedList`.

    Raises:
        OptionError: A key that is not text, or a value that cannot be pickled and has no column either.
        StorageError: No memory for it.
    """

    __slots__ = ("__weakref__", "block", "column")

    def __init__(self, items: Mapping[str, V] | Iterable[tuple[str, V]], *, per: Per = "auto") -> None:
        if isinstance(items, SharedDict):
            self.block: Block = items.block
        else:
            self.block = share(pack_pairs(items), per)
        self.column = cast("KeyedColumn", self.block.column)

    @classmethod
    def once(cls, name: str, make: Callable[[], Mapping[str, V] | Iterable[tuple[str, V]]]) -> Self:
        """The dict of this name, made by one rank of the node, as `SharedList.once`.

        Args:
            name: Which dict of this job.
            make: Gives the items.

        Raises:
            OptionError: As for `SharedDict(...)`.
            StorageError: The same.
        """
        return cls.of_block(share_once(f"dict {name}", lambda: pack_pairs(make())))

    @classmethod
    def of_block(cls, block: Block) -> Self:
        """The dict that lies in a block."""
        new = cls.__new__(cls)
        new.block, new.column = block, cast("KeyedColumn", block.column)
        return new

    @property
    def layout(self) -> str:
        """How keys and values are kept: `"text: int16"`, `"text: {path: text, label: int8}"`, `"text: pickled"`."""
        return self.column.layout

    @property
    def size_bytes(self) -> int:
        """Bytes of the shared block, once for all processes."""
        return self.block.size_bytes

    def __len__(self) -> int:
        return self.block.header.num_rows

    def __getitem__(self, key: str) -> V:
        return self.column.values.item(self.row_of(key))  # type: ignore[no-any-return]

    def take(self, keys: Iterable[str]) -> list[V]:
        """The values of many keys at once: what `[self[key] for key in keys]` gives.

        Raises:
            KeyError: A key that is not there.
        """
        return self.column.values.items(np.array([self.row_of(key) for key in keys], dtype=np.int64))

    def row_of(self, key: object) -> int:
        """Row of a key. Raises `KeyError` where it is not there."""
        row = self.column.row_of(key) if isinstance(key, str) else None
        if row is None:
            raise KeyError(key)
        return row

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.column.row_of(key) is not None

    def __iter__(self) -> Iterator[str]:
        return self.chunked(self.column.keys.items)

    def chunked(self, read: Callable[[I64], list[Any]]) -> Iterator[Any]:
        """What `read` makes of all rows, in order."""
        for start in range(0, len(self), AT_ONCE):
            yield from read(np.arange(start, min(start + AT_ONCE, len(self))))

    def items(self) -> ItemsView[str, V]:
        """Pairs of key and value, in order."""
        return SharedItems(self)

    def values(self) -> ValuesView[V]:
        """The values, in order."""
        return SharedValues(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedDict) and other.block is self.block:
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        return len(self) == len(other) and all(key in other and other[key] == value for key, value in self.items())

    __hash__ = None  # type: ignore[assignment]  # equal to dicts, which have none

    def __repr__(self) -> str:
        shown = [f"{key!r}: {value!r}" for key, value in self.column.items(np.arange(min(NUM_SHOWN, len(self))))]
        more = ["..."] if len(self) > NUM_SHOWN else []
        weight = format_bytes(self.size_bytes)
        return f"SharedDict({{{', '.join(shown + more)}}}, {count(len(self), 'item')}, {self.layout}, {weight})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return shared_dict, (self.block,)


class SharedItems(ItemsView[str, V]):
    """Pairs, read by the thousand."""

    _mapping: SharedDict[V]

    def __iter__(self) -> Iterator[tuple[str, V]]:
        return self._mapping.chunked(self._mapping.column.items)


class SharedValues(ValuesView[V]):
    """Values, read by the thousand."""

    _mapping: SharedDict[V]

    def __iter__(self) -> Iterator[V]:
        return self._mapping.chunked(self._mapping.column.values.items)


def pack_pairs(items: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Packed:
    """Keys and values, packed.

    Raises:
        OptionError: A key that is not text, or a value that cannot be packed.
    """
    content = items if isinstance(items, Mapping) else dict(items)
    keys = checked_keys(content)
    return pack_keyed(keys, pack_items(content[key] for key in keys))


def checked_keys(content: Mapping[str, Any]) -> list[str]:
    """The keys, all of them text.

    Raises:
        OptionError: A key of another type, named.
    """
    keys = list(content)
    for key in keys:
        if type(key) is not str:
            raise OptionError(
                "a SharedDict has keys of text",
                got=f"{key!r} ({type(key).__name__})",
                accepted="str",
                remedy="Write the keys as text, or keep the values in a SharedList where keys are numbers",
            )
    return keys


def shared_dict(block: Block) -> SharedDict[Any]:
    """The dict in a block: what a dict is sent as."""
    return SharedDict.of_block(block)
