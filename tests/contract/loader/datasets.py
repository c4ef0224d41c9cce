"""Datasets of the contract."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset


class Numbers(Dataset[Any]):
    """The sample of an index is that index, as Python has it."""

    def __init__(self, num: int) -> None:
        self.num = num

    def __len__(self) -> int:
        return self.num

    def __getitem__(self, index: int) -> int:
        if not -self.num <= index < self.num:
            raise IndexError(f"no sample {index}")
        return range(self.num)[index]


class ByName(Dataset[Any]):
    """Samples by name, and no length."""

    def __getitem__(self, name: str) -> tuple[str, int]:
        return name, len(name)


class Batched(Numbers):
    """Makes the samples of a batch in one call."""

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [100 + index for index in indices]


class Table(Dataset[Any]):
    """Gives a whole batch for a list of indices, as a data base would."""

    def __init__(self, num: int) -> None:
        self.rows = torch.arange(num) * 10

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, indices: Any) -> torch.Tensor:
        return self.rows[indices]


class Point(NamedTuple):
    """A named tuple, which batches stay."""

    x: Any
    y: Any


@dataclasses.dataclass
class Pair:
    """A dataclass, which torch leaves to a `collate_fn`."""

    left: Any
    right: Any


class Nested(Dataset[Any]):
    """Every structure that torch collates."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {
            "tensor": torch.full((2, 3), index),
            "array": np.full((2,), index, dtype=np.int16),
            "scalar": np.float32(index),
            "float": index / 2,
            "int": index,
            "bool": index % 2 == 0,
            "text": f"text {index}",
            "bytes": b"%d" % index,
            "point": Point(index, torch.tensor([index])),
            "pair": (index, [index, f"{index}"]),
            "inner": {"deep": {"deeper": index}},
            7: index,
        }
