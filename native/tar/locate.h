// Where the wanted field of each sample lies, from the columns of a shard index.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// A shard as it is read from: its descriptor, its index, and the numbers of the wanted fields, best first, for each
// entry.
struct ShardFields {
  int32_t fd;
  IndexColumns index;
  std::vector<std::vector<uint32_t>> wanted;
};

// Row i is sample `samples[i]` of shard `shards[i]`; -1, or a shard that is null, means of none: nothing is found.
struct Rows {
  std::span<const ShardFields* const> shards;
  std::span<const int32_t> places;
  std::span<const int64_t> samples;
};

// The field of one entry for every row, as `locate` has it, and its shard's descriptor, -1 where there is nothing.
struct LocatedRows {
  int32_t* fds;
  Located fields;
};

bool locate_rows(const Rows& rows, size_t entry, const LocatedRows& out);

// Which of some shards, of which the i-th ends before sample `ends[i]`, hold these samples: their numbers, rising; for
// each sample the place of its shard among them, and its number in there. False where a sample is in none, or where
// ends that do not rise give it a shard that begins behind it.
struct Placed {
  std::vector<int64_t> shards;
  std::vector<int32_t> places;
  std::vector<int64_t> samples;
};

bool place_samples(std::span<const int64_t> ends, std::span<const int64_t> ids, Placed& out);

}  // namespace headrace::tar
