"""A list in memory that many processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap
from operator import eq
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from headrace._base.units import count, format_bytes
from headrace.datasets.shared.array_column import ArrayColumn
from headrace.datasets.shared.block import Block
from headrace.datasets.shared.column import Column
from headrace.datasets.shared.number_column import NumberColumn
from headrace.datasets.shared.pack_items import pack_items
from headrace.datasets.shared.share import Per, share, share_once
from headrace.errors import OptionError

T = TypeVar("T")

AT_ONCE = 1024
"""Items that iteration reads together."""
NUM_SHOWN = 3


class SharedList(Sequence[T], Generic[T]):
    """A list that does not change, kept once for all worker processes, and for all ranks of a node.

    Reads like a Python list: `len`, indices, slices, iteration, `in`, `==`. Items are made when they are asked for and
    are not kept, so a worker that goes through all of them takes no memory for it, and nothing is copied when a process
    starts. Sent to another process (`pickle`), a list is a handle of a few hundred bytes. A slice is a view of the same
    memory.

    Items that are all text, all bytes, all ints (of 64 bits), floats or bools, arrays of one shape and type, scalars of
    numpy, or tuples, lists or dicts of those with the same places, are kept in columns; where items are mixed or
    of another type, they are pickled one by one. `layout` says which it is.

    An array is a view of the shared memory. Who writes into it changes it in his own process alone.

    Args:
        items: Any iterable; a generator's items are packed as they come.
        per: `"node"`: ranks of this node that make equal lists share one; `"process"`: each process that makes a list
            has its own, shared with the processes it starts; `"auto"`: `"node"` where torchrun, mpirun or srun has
            started several ranks here.

    Raises:
        OptionError: An item that cannot be pickled and has no column either, named by its index.
        StorageError: No memory for it.
    """

    __slots__ = ("__weakref__", "block", "column", "rows")

    def __init__(self, items: Iterable[T], *, per: Per = "auto") -> None:
        self.block: Block = items.block if isinstance(items, SharedList) else share(pack_items(items), per)
        self.rows: range = items.rows if isinstance(items, SharedList) else range(self.block.header.num_rows)
        self.column: Column = self.block.column

    @classmethod
    def once(cls, name: str, make: Callable[[], Iterable[T]]) -> Self:
        """The list of this name, made by one rank of the node; the others wait for it and do not call `make`.

        Worth it where making the items is slow (looking through folders) or takes much memory. Where no launcher has
        started several ranks here, `make` is called and that is all. A name stands for the list that `make` gave for as
        long as the rank that called it has the list.

        Args:
            name: Which list of this job.
            make: Gives the items. If it raises, that rank gets the error and the next one calls its own.

        Raises:
            OptionError: As for `SharedList(...)`.
            StorageError: The same.
        """
        block = share_once(f"list {name}", lambda: pack_items(make()))
        return cls.of_rows(block, range(block.header.num_rows))

    @classmethod
    def of_rows(cls, block: Block, rows: range) -> Self:
        """A list of some rows of a block."""
        new = cls.__new__(cls)
        new.block, new.column, new.rows = block, block.column, rows
        return new

    @property
    def layout(self) -> str:
        """How the items are kept: `"text"`, `"int16"`, `"(text, int16)"`, `"float32[3, 224, 224]"`, `"pickled"`."""
        return self.column.layout

    @property
    def size_bytes(self) -> int:
        """Bytes of the shared block, once for all processes; a slice has those of the whole list."""
        return self.block.size_bytes

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> T | Self:
        try:
            row = self.rows[index]
        except IndexError:
            raise IndexError(f"index {index} of a list of {count(len(self), 'item')}") from None
        if isinstance(row, range):
            return self.of_rows(self.block, row)
        return self.column.item(row)  # type: ignore[no-any-return]

    def take(self, ids: npt.ArrayLike) -> list[T]:
        """Many items at once: what `[self[i] for i in ids]` gives, in less time.

        Args:
            ids: Integers, negative ones count from the end, shape (n,).

        Raises:
            IndexError: One of them is out of bounds, named.
            OptionError: No integers, or not one-dimensional.
        """
        return self.column.items(self.rows_of(ids))

    def rows_of(self, ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Rows of the block for indices of this list, shape (n,)."""
        asked = np.asarray(ids)
        if asked.ndim != 1 or (asked.dtype.kind not in "iu" and asked.size):
            raise OptionError(
                "ids are not a row of integers", got=f"{asked.dtype.name} of shape {asked.shape}", accepted="shape (n,)"
            )
        wanted, num = asked.astype(np.int64), len(self.rows)
        wrong = (wanted < -num) | (wanted >= num)
        if wrong.any():
            raise IndexError(f"index {wanted[wrong][0]} of a list of {count(num, 'item')}")
        wanted[wanted < 0] += num
        return self.rows.start + wanted * self.rows.step

    def __iter__(self) -> Iterator[T]:
        rows, items = self.rows, self.column.items
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            yield from items(np.arange(part.start, part.stop, part.step))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedList) and other.block is self.block and other.rows == self.rows:
            return True
        if not isinstance(other, (SharedList, list)):
            return NotImplemented
        return len(self) == len(other) and all(starmap(eq, zip(self, other, strict=True)))

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __array__(self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None) -> npt.NDArray[Any]:
        """What `np.array` makes of the same list: numbers and arrays without an object for each."""
        if copy is False:
            raise ValueError("the items of a SharedList are put together anew: copy=False cannot be had")
        column = self.column
        if not isinstance(column, (NumberColumn, ArrayColumn)):
            return np.array(list(self), dtype=dtype)
        values = column.values[np.arange(self.rows.start, self.rows.stop, self.rows.step)]
        if isinstance(column, NumberColumn) and values.dtype.kind == "i":
            values = values.astype(np.int64)  # what a list of Python's integers becomes
        return values if dtype is None else values.astype(dtype, copy=False)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:NUM_SHOWN]))
        more = ", ..." if len(self) > NUM_SHOWN else ""
        return (
            f"SharedList([{shown}{more}], {count(len(self), 'item')}, {self.layout}, {format_bytes(self.size_bytes)})"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return shared_list, (self.block, self.rows)


def shared_list(block: Block, rows: range) -> SharedList[Any]:
    """A list of some rows of a block: what a list is sent as."""
    return SharedList.of_rows(block, rows)
