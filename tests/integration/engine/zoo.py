"""Values of all kinds that a batch may hold."""

import collections
import dataclasses

import numpy as np
import torch

Pair = collections.namedtuple("Pair", "images labels")  # noqa: PYI024


@dataclasses.dataclass
class Sample:
    image: torch.Tensor
    name: str


def zoo():
    """Values of all kinds, each made anew, the same each time."""
    torch.manual_seed(0)
    return {
        "none": None,
        "text": "Zürich",
        "bytes": b"\x00" * 100_000,
        "large text": "x" * 300_000,
        "many objects": [{"id": i, "name": f"sample {i}"} for i in range(5000)],
        "array": np.arange(100_000, dtype=np.int32).reshape(100, 1000),
        "array, Fortran order": np.asfortranarray(np.arange(60_000.0).reshape(200, 300)),
        "array, strided": np.arange(60_000.0).reshape(200, 300)[::2, ::3],
        "array, small": np.arange(3),
        "array, empty": np.empty((0, 7), np.float32),
        "array, scalar": np.array(3.5),
        "array of dates": np.arange("2020-01-01", "2050-01-01", dtype="datetime64[D]"),
        "array of objects": np.array([None, "a", 3], dtype=object),
        "array of records": np.zeros(2000, dtype=[("a", "i4"), ("b", "f8", 3)]),
        "array of text": np.array(["abc", "de"] * 1000),
        "array, big endian": np.arange(5000, dtype=">i4"),
        "tensor": torch.arange(100_000).reshape(100, 1000),
        "tensor, channels last": torch.rand(4, 3, 32, 32).to(memory_format=torch.channels_last),
        "tensor, strided": torch.rand(64, 64)[::2, 1:],
        "tensor, expanded": torch.rand(64, 1).expand(64, 64),
        "tensor, small": torch.tensor([True, False]),
        "tensor, empty": torch.empty(0, 5),
        "tensor, scalar": torch.tensor(2.5),
        "tensor, bfloat16": torch.rand(5000).to(torch.bfloat16),
        "tensor, complex": torch.rand(5000, dtype=torch.complex64),
        "tensor, conjugate": torch.rand(5000, dtype=torch.complex64).conj(),
        "tensor, sparse": torch.eye(50).to_sparse(),
        "tensor of autograd": torch.rand(5000, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.rand(3000)),
        "named tuple": Pair(torch.rand(2000), np.arange(2000)),
        "dataclass": Sample(torch.rand(2000), "a"),
        "nested": {"a": [torch.rand(2000), (np.arange(2000), {"b": torch.rand(1)})], "c": "d"},
        "set": {1, 2, 3},
        "exception": ValueError("as a value"),
    }


def same(sent, came):
    if isinstance(sent, torch.Tensor):
        facts = type(sent), sent.dtype, sent.shape, sent.requires_grad, sent.layout, sent.is_conj()
        assert facts == (type(came), came.dtype, came.shape, came.requires_grad, came.layout, came.is_conj())
        assert torch.equal(sent.to_dense(), came.to_dense())
    elif isinstance(sent, np.ndarray):
        assert (type(sent), sent.dtype, sent.shape) == (type(came), came.dtype, came.shape)
        assert came.flags.writeable
        np.testing.assert_array_equal(sent, came)
    elif isinstance(sent, dict):
        assert list(sent) == list(came)
        for key in sent:
            same(sent[key], came[key])
    elif isinstance(sent, tuple | list):
        assert type(sent) is type(came)
        for one, other in zip(sent, came, strict=True):
            same(one, other)
    elif isinstance(sent, Exception):
        assert (type(sent), sent.args) == (type(came), came.args)
    elif dataclasses.is_dataclass(sent):
        assert type(sent) is type(came)
        same(vars(sent), vars(came))
    else:
        assert sent == came
