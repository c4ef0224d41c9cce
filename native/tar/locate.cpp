#include "tar/locate.h"

#include <algorithm>

namespace headrace::tar {

namespace {

// Member and choice of one sample.
struct Found {
  size_t member = 0;
  int32_t choice = -1;
};

Found find(const IndexColumns& index, size_t start, size_t end, std::span<const uint32_t> wanted) {
  Found found;
  size_t best = wanted.size();
  for (size_t member = start; member < end && best > 0; ++member) {
    const auto limit = wanted.begin() + static_cast<std::ptrdiff_t>(best);
    const auto hit = std::find(wanted.begin(), limit, index.field_ids[member]);
    if (hit == limit) continue;
    best = static_cast<size_t>(hit - wanted.begin());
    found = {member, static_cast<int32_t>(best)};
  }
  return found;
}

}  // namespace

bool locate(const IndexColumns& index, std::span<const int64_t> samples, std::span<const uint32_t> wanted,
            const Located& out) {
  const size_t num_members = std::min({index.offsets.size(), index.sizes.size(), index.field_ids.size()});
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] < 0 || static_cast<uint64_t>(samples[i]) + 1 >= index.starts.size()) return false;
    const size_t sample = static_cast<size_t>(samples[i]);
    if (index.starts[sample] > index.starts[sample + 1] || index.starts[sample + 1] > num_members) return false;
    const Found found = find(index, index.starts[sample], index.starts[sample + 1], wanted);
    out.choices[i] = found.choice;
    out.offsets[i] = found.choice < 0 ? 0 : index.offsets[found.member];
    out.sizes[i] = found.choice < 0 ? 0 : index.sizes[found.member];
  }
  return true;
}

bool locate_rows(const LocateRows& rows, const Located& out) {
  for (size_t i = 0; i < rows.samples.size(); ++i) {
    const Located row{out.offsets + i, out.sizes + i, out.choices + i};
    if (rows.shards[i] < 0) {
      *row.offsets = 0, *row.sizes = 0, *row.choices = -1;
      continue;
    }
    const size_t shard = static_cast<size_t>(rows.shards[i]);
    if (shard >= rows.indexes.size()) return false;
    if (!locate(rows.indexes[shard], rows.samples.subspan(i, 1), rows.wanted[shard], row)) return false;
  }
  return true;
}

}  // namespace headrace::tar
