"""Values of one kind and shape become one tensor over leased memory: what torch's default collation makes, sooner.

`torch.utils.data.default_collate` is the reference; a property test holds the two equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils.collate import collate, collate_tensor_fn, default_collate_fn_map

from headrace import _native
from headrace.contracts import Allocate

LEASE_FROM_BYTES = 64 << 10
"""Below this, memory costs less than torch's way of writing to a given place (45 against 23 us for 256 rows)."""

JOINED_BELOW_BYTES = 4 << 10
"""Arrays smaller than this are looked at and joined as bytes in one native call, and copied with nothing in between, so
that those that are not in the cache are fetched side by side. 256 rows of 64 bytes, anywhere in 64 MB: 54 ns a row; by
`np.concatenate`, which looks at each array in between, 290."""

NUMBERS = ({int}, {float}, {bool})

SCALARS = frozenset(np.dtype(code).type for code in "?bhilqBHIefdFD")
"""Numbers of numpy that torch has a type for, but for those of 64 bits without a sign, which it refuses in a list."""

DTYPE_OF = attrgetter("dtype")


def stack(values: Sequence[Any], allocate: Allocate) -> Any:
    """What `default_collate` makes of leaves: tensors, arrays, numbers, strings.

    Args:
        values: One a row.
        allocate: Where the memory comes from.

    Raises:
        RuntimeError, TypeError, ValueError: They do not fit together, or are of a kind that torch cannot collate.
    """
    first = values[0]
    if type(first) is torch.Tensor:
        return stack_tensors(values, allocate)
    if type(first) is np.ndarray and first.ndim:
        return stack_arrays(values, allocate)
    if type(first) in SCALARS:
        content = _native.joined_content(values)
        if content is not None:
            return of_content(content, first.dtype, (len(values),))
    if is_numbers(set(map(type, values))):
        return stack_numbers(values)
    return by_torch(values)


def stack_tensors(tensors: Sequence[torch.Tensor], allocate: Allocate) -> Any:
    """Shape (rows, ...)."""
    first = tensors[0]
    size_bytes = len(tensors) * first.numel() * first.element_size()
    plain = first.layout is torch.strided and first.device.type == "cpu" and not first.is_quantized
    if size_bytes < LEASE_FROM_BYTES or not plain or any(unlike(one, first) for one in tensors):
        return by_torch(tensors)
    target = empty_tensor((len(tensors), *first.shape), first.dtype, allocate)
    torch.stack(list(tensors), out=target)
    return target


def unlike(tensor: Any, first: torch.Tensor) -> bool:
    """Whether a tensor cannot be written beside the first one without a conversion."""
    return (
        type(tensor) is not torch.Tensor
        or tensor.dtype is not first.dtype
        or tensor.shape != first.shape
        or tensor.requires_grad
    )


def stack_arrays(arrays: Sequence[Any], allocate: Allocate) -> Any:
    """Shape (rows, ...)."""
    first = arrays[0]
    if first.dtype.kind not in "iufbc" or not first.dtype.isnative:
        return by_torch(arrays)
    shape = (len(arrays), *first.shape)
    content = _native.joined_content(arrays) if first.nbytes < JOINED_BELOW_BYTES else None
    if content is None:
        return concatenate(arrays, shape, allocate)
    if len(content) < LEASE_FROM_BYTES:
        return of_content(content, first.dtype, shape)
    target = allocate(shape, first.dtype)
    target.reshape(-1).view(np.uint8)[:] = content
    return torch.from_numpy(target)


def concatenate(arrays: Sequence[Any], shape: tuple[int, ...], allocate: Allocate) -> Any:
    """The general way: arrays of any layout, and those that do not fit together, which torch refuses or converts."""
    first = arrays[0]
    alike = set(map(type, arrays)) == {np.ndarray} and set(map(DTYPE_OF, arrays)) == {first.dtype}
    if not alike or set(map(len, arrays)) != {len(first)}:
        return by_torch(arrays)
    target = allocate(shape, first.dtype)
    np.concatenate(arrays, out=target.reshape(len(arrays) * len(first), *first.shape[1:]))  # checks other dimensions
    return torch.from_numpy(target)


def of_content(content: bytearray, dtype: Any, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor over these bytes."""
    return torch.from_numpy(np.frombuffer(content, dtype=dtype).reshape(shape))


def is_numbers(kinds: set[type]) -> bool:
    """Whether values of these types are numbers of one kind, Python's or numpy's."""
    return kinds in NUMBERS or (len(kinds) == 1 and kinds <= SCALARS)


def stack_numbers(numbers: Sequence[Any]) -> Any:
    """Shape (rows,). Integers stay integers or are refused: numpy makes floats of those that fit no type together."""
    array = np.array(numbers)
    is_faithful = array.dtype.kind in ("i" if type(numbers[0]) is int else "iufbc")
    return torch.from_numpy(array) if is_faithful else by_torch(numbers)


def by_torch(values: Sequence[Any]) -> Any:
    """The reference; a tuple of strings stays a tuple with it, a list a list."""
    return collate(values, collate_fn_map=default_collate_fn_map | OWN_FUNCTIONS)


def is_registered(value: Any) -> bool:
    """Whether the user has told torch how to collate values of this very type."""
    return type(value) in default_collate_fn_map


def join_tensors(tensors: Sequence[torch.Tensor], *, collate_fn_map: Any = None) -> Any:
    """What `default_collate` does in the caller's process, in worker processes too.

    In a worker of its own loader torch writes to a new file in /dev/shm each time, and refuses tensors that require
    gradients. Our batches travel in other memory.
    """
    first = tensors[0]
    if first.is_nested or first.layout is not torch.strided:
        return collate_tensor_fn(tensors, collate_fn_map=collate_fn_map)  # says that it cannot
    return torch.stack(list(tensors))


OWN_FUNCTIONS: dict[Any, Any] = {torch.Tensor: join_tensors}
"""What stands in for torch's; all others are looked up when they are needed, since users register more."""


def empty_tensor(shape: Sequence[int], dtype: torch.dtype, allocate: Allocate) -> torch.Tensor:
    """An uninitialised tensor over leased memory, also of the dtypes that numpy lacks."""
    size_bytes = math.prod(shape) * dtype.itemsize
    if size_bytes == 0:
        return torch.empty(tuple(shape), dtype=dtype)
    memory = allocate((size_bytes,), np.uint8)
    return torch.from_numpy(memory).view(dtype).view(*shape)
