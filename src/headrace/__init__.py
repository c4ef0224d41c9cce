"""Headrace: the unblocked way from storage to GPU memory for PyTorch training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.datasets.field import Field, field
    from headrace.datasets.file_dataset import FileDataset
    from headrace.datasets.padding import Pad
    from headrace.datasets.shard_dataset import ShardDataset
    from headrace.datasets.shard_writer import ShardWriter
    from headrace.datasets.shared.shared_dict import SharedDict
    from headrace.datasets.shared.shared_list import SharedList
    from headrace.errors import HeadraceError
    from headrace.loader.data_loader import DataLoader
    from headrace.order.topology import Topology
    from headrace.recipes.albumentations import Albumentations
    from headrace.recipes.randomness import rng
    from headrace.recipes.views import Views

__all__ = [
    "Albumentations",
    "DataLoader",
    "Field",
    "FileDataset",
    "HeadraceError",
    "Pad",
    "ShardDataset",
    "ShardWriter",
    "SharedDict",
    "SharedList",
    "Topology",
    "Views",
    "__version__",
    "field",
    "rng",
]
__version__ = "0.1.0"

LAZY = {
    "Albumentations": "headrace.recipes.albumentations",
    "DataLoader": "headrace.loader.data_loader",
    "Field": "headrace.datasets.field",
    "FileDataset": "headrace.datasets.file_dataset",
    "HeadraceError": "headrace.errors",
    "Pad": "headrace.datasets.padding",
    "ShardDataset": "headrace.datasets.shard_dataset",
    "ShardWriter": "headrace.datasets.shard_writer",
    "SharedDict": "headrace.datasets.shared.shared_dict",
    "SharedList": "headrace.datasets.shared.shared_list",
    "Topology": "headrace.order.topology",
    "Views": "headrace.recipes.views",
    "field": "headrace.datasets.field",
    "rng": "headrace.recipes.randomness",
}
"""Where each public name lives; loaded when it is first asked for, so that `import headrace` costs nothing."""


def __getattr__(name: str) -> Any:
    """Loads a public name."""
    if name not in LAZY:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    value = getattr(import_module(LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *LAZY})
