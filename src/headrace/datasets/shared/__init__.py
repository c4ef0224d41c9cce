"""Lists and dicts in memory that all processes of a node share."""

from headrace.datasets.shared.attributes import pack_attributes
from headrace.datasets.shared.savings import PackedAttribute, PackedDataset
from headrace.datasets.shared.shared_dict import SharedDict
from headrace.datasets.shared.shared_list import SharedList

__all__ = ["PackedAttribute", "PackedDataset", "SharedDict", "SharedList", "pack_attributes"]
