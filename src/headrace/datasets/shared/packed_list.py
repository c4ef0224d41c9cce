"""What takes the place of a plain list or dict of a dataset when it is sent to workers.

It does all that the plain one does: reading goes to the shared memory, and with the first change it becomes a plain
one of this process, as the worker's own copy has always been.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from headrace.datasets.shared.shared_list import SharedList

T = TypeVar("T")


class PackedList(MutableSequence[T], Generic[T]):
    """A list that is shared for as long as nobody changes it.

    Args:
        items: The shared list.
    """

    __slots__ = ("items",)

    def __init__(self, items: SharedList[T] | list[T]) -> None:
        self.items = items

    def own(self) -> list[T]:
        """The items as a plain list of this process, from here on."""
        if not isinstance(self.items, list):
            self.items = list(self.items)
        return self.items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        found = self.items[index]
        return list(found) if isinstance(found, SharedList) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.own()[index] = value

    def __delitem__(self, index: Any) -> None:
        del self.own()[index]

    def insert(self, index: int, value: T) -> None:
        """Puts an item before another one."""
        self.own().insert(index, value)

    def sort(self, **options: Any) -> None:
        """Sorts in place, as `list.sort`."""
        self.own().sort(**options)

    def copy(self) -> list[T]:
        """The items as a plain list."""
        return list(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __add__(self, other: Iterable[T]) -> list[T]:
        return self.copy() + plain(other)

    def __radd__(self, other: Iterable[T]) -> list[T]:
        return plain(other) + self.copy()

    def __mul__(self, times: int) -> list[T]:
        return self.copy() * times

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return bool(self.items == (other.items if isinstance(other, PackedList) else other))

    __hash__ = None  # type: ignore[assignment]  # as with lists

    def __array__(self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.items, dtype=dtype)

    def __repr__(self) -> str:
        return repr(self.items)

    def __copy__(self) -> Self:
        return type(self)(self.items if isinstance(self.items, SharedList) else list(self.items))


def plain(items: Iterable[T]) -> list[T]:
    """A plain list of what may be a packed one; anything else is left for `+` to judge."""
    return items.copy() if isinstance(items, PackedList) else cast("list[T]", items)
