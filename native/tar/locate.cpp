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

bool locate_rows(const Rows& rows, size_t entry, const LocatedRows& out) {
  for (size_t i = 0; i < rows.samples.size(); ++i) {
    const Located row{out.fields.offsets + i, out.fields.sizes + i, out.fields.choices + i};
    *row.offsets = 0, *row.sizes = 0, *row.choices = -1, out.fds[i] = -1;
    if (rows.places[i] < 0) continue;
    const size_t place = static_cast<size_t>(rows.places[i]);
    if (place >= rows.shards.size()) return false;
    const ShardFields* shard = rows.shards[place];
    if (shard == nullptr) continue;
    if (entry >= shard->wanted.size()) return false;
    if (!locate(shard->index, rows.samples.subspan(i, 1), shard->wanted[entry], row)) return false;
    if (*row.choices >= 0) out.fds[i] = shard->fd;
  }
  return true;
}

bool place_samples(std::span<const int64_t> ends, std::span<const int64_t> ids, Placed& out) {
  std::vector<int64_t> shard_of_row;
  shard_of_row.reserve(ids.size());
  for (const int64_t id : ids) {
    if (id < 0 || ends.empty() || id >= ends.back()) return false;
    shard_of_row.push_back(std::upper_bound(ends.begin(), ends.end(), id) - ends.begin());
  }
  out.shards = shard_of_row;
  std::sort(out.shards.begin(), out.shards.end());
  out.shards.erase(std::unique(out.shards.begin(), out.shards.end()), out.shards.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t shard = shard_of_row[i];
    const auto place = std::lower_bound(out.shards.begin(), out.shards.end(), shard) - out.shards.begin();
    const int64_t begin = shard == 0 ? 0 : ends[static_cast<size_t>(shard) - 1];
    // Only ends that do not rise from 0 on get here; all of them are too many to look at for each batch.
    if (begin < 0 || begin > ids[i]) return false;
    out.places.push_back(static_cast<int32_t>(place));
    out.samples.push_back(ids[i] - begin);
  }
  return true;
}

}  // namespace headrace::tar
