"""What goes into which shard: a plan that is made before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.contracts import I64
from headrace.order.permutation import permutation
from headrace.pack.catalog import Catalog
from headrace.pack.options import DEFAULT_SHARD_SIZE_BYTES, PackOptions
from headrace.shards import even_counts, even_cuts
from headrace.shards.header import BLOCK, END_BLOCKS, member_header
from headrace.shards.table import starts_of

SHORT_NAME_BYTES = 100
"""Names up to this length have a header of one block, whatever the size below 8 GiB."""
PLAIN_SIZE_BYTES = 1 << 33


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Samples in the order of packing, cut into shards."""

    order: I64
    """Rows of the catalog, shape (samples,)."""
    cuts: I64
    """First position of each shard in `order`, and the end, shape (shards + 1,)."""

    @property
    def num_shards(self) -> int:
        """Number of shards."""
        return len(self.cuts) - 1

    def samples(self, shard: int) -> I64:
        """Rows of the catalog that make up a shard."""
        return self.order[self.cuts[shard] : self.cuts[shard + 1]]


def packing_order(num_samples: int, options: PackOptions) -> I64:
    """The samples in the order of packing: a keyed permutation, or source order."""
    positions = np.arange(num_samples, dtype=np.int64)
    return permutation(num_samples, options.shuffle_seed).at(positions) if options.shuffle else positions


def make_plan(catalog: Catalog, order: I64, options: PackOptions) -> Plan:
    """Cuts the samples by number or by size, as asked for."""
    if options.samples_per_shard is not None:
        return Plan(order=order, cuts=starts_of(even_counts(len(order), options.samples_per_shard)))
    largest_bytes = (options.shard_size_bytes or DEFAULT_SHARD_SIZE_BYTES) - len(END_BLOCKS)
    return Plan(order=order, cuts=starts_of(even_cuts(packed_sizes(catalog)[order], largest_bytes)))


def packed_sizes(catalog: Catalog) -> I64:
    """What each sample takes in a shard, headers and padding included, shape (samples,)."""
    sizes = BLOCK + -(-catalog.sizes // BLOCK) * BLOCK
    key_bytes = np.fromiter((len(key.encode()) for key in catalog.keys), dtype=np.int64, count=len(catalog))
    field_bytes = np.array([len(field.encode()) + 1 for field in catalog.fields], dtype=np.int64)
    name_bytes = np.repeat(key_bytes, np.diff(catalog.starts)) + field_bytes[catalog.field_ids]
    special = np.flatnonzero((name_bytes > SHORT_NAME_BYTES) | (catalog.sizes >= PLAIN_SIZE_BYTES))
    owners = np.searchsorted(catalog.starts, special, "right") - 1
    for row, sample in zip(special.tolist(), owners.tolist(), strict=True):
        name = f"{catalog.keys[sample]}.{catalog.fields[catalog.field_ids[row]]}"
        sizes[row] += len(member_header(name.encode(), int(catalog.sizes[row]))) - BLOCK
    return np.add.reduceat(sizes, catalog.starts[:-1])
