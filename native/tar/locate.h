// Where the wanted field of each sample lies, from the columns of a shard index.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::tar {

struct IndexColumns {
  std::span<const uint32_t> starts;
  std::span<const uint64_t> offsets;
  std::span<const uint64_t> sizes;
  std::span<const uint32_t> field_ids;
};

struct Located {
  uint64_t* offsets;
  uint64_t* sizes;
  int32_t* choices;  // position in `wanted` of what was found, -1 where the sample has none of them
};

// For every sample the member with the field that comes first in `wanted`. False where a sample or the index is out of
// bounds.
bool locate(const IndexColumns& index, std::span<const int64_t> samples, std::span<const uint32_t> wanted,
            const Located& out);

// The same for samples of several shards: row i is sample `samples[i]` of shard `shards[i]` (-1: of none, nothing is
// found), and `wanted` gives the field numbers for each shard.
struct LocateRows {
  std::span<const IndexColumns> indexes;
  std::span<const std::span<const uint32_t>> wanted;
  std::span<const int32_t> shards;
  std::span<const int64_t> samples;
};

bool locate_rows(const LocateRows& rows, const Located& out);

}  // namespace headrace::tar
