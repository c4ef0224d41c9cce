from dataclasses import dataclass

import numpy as np
import pytest
import torch

from headrace.loader.made import tensor_bytes


@dataclass
class Pair:
    image: torch.Tensor
    name: str


class Odd:
    """An object whose attribute of this name is something else."""

    def nbytes(self):
        return "many"


@pytest.mark.parametrize(
    ("batch", "size_bytes"),
    [
        (torch.ones(2, 3), 24),
        ({"a": [np.zeros(5, np.int16)], "b": (b"abc", "de")}, 15),
        (Pair(torch.ones(4), "name"), 20),
        ([torch.eye(2).to_sparse(), Odd(), None, Pair], 0),
        (list(range(100_000)), 800_000),
        ((1, torch.ones(4), 2.5), 16),
    ],
)
def test_what_batches_weigh_as_far_as_they_can_tell(batch, size_bytes):
    assert tensor_bytes(batch) == size_bytes
