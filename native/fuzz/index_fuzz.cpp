// Columns of a shard index that lies: where fields are, which shards hold samples, which reads get them.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "fuzz/byte_reader.h"
#include "fuzz/target.h"
#include "io/plan.h"
#include "tar/locate.h"

namespace headrace {
namespace {

constexpr int kMostRows = 12;
constexpr uint64_t kMostArena = 1 << 16;
constexpr uint64_t kFileBytes = 20'000;
// What has no range and what was not read: values of io/pread.h and errno are not 0 either.
constexpr int32_t kRead = 0;

template <typename Number>
std::vector<Number> numbers(ByteReader& reader, int most) {
  std::vector<Number> values(reader.byte() % (most + 1));
  for (Number& value : values) value = static_cast<Number>(reader.number());
  return values;
}

uint8_t pattern(uint64_t offset) { return static_cast<uint8_t>(offset * 7 + (offset >> 8)); }

int pattern_file() {
  const int fd = fileno(std::tmpfile());  // never closed: it lives as long as the target
  std::vector<uint8_t> bytes(kFileBytes);
  for (uint64_t i = 0; i < kFileBytes; ++i) bytes[i] = pattern(i);
  promise(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "memory is there for a file");
  return fd;
}

struct Index {
  std::vector<uint32_t> starts;
  std::vector<uint64_t> offsets, sizes;
  std::vector<uint32_t> field_ids;

  tar::IndexColumns columns() const { return {starts, offsets, sizes, field_ids}; }
};

struct Found {
  std::vector<int32_t> fds;
  std::vector<uint64_t> offsets, sizes;
};

// What is found is a member of that sample, of the field that was chosen.
void check_row(const Index& index, int64_t sample, std::span<const uint32_t> wanted, uint64_t offset, uint64_t size,
               int32_t choice) {
  bool hit = false;
  for (size_t i = index.starts[sample]; i < index.starts[sample + 1]; ++i) {
    const auto place = std::find(wanted.begin(), wanted.end(), index.field_ids[i]) - wanted.begin();
    promise(choice >= 0 ? place >= choice : place == std::ssize(wanted), "no better field is passed over");
    hit = hit || (place == choice && index.offsets[i] == offset && index.sizes[i] == size);
  }
  promise(hit == (choice >= 0), "a field that is found is there");
}

Found try_locate(ByteReader& reader) {
  const Index index{numbers<uint32_t>(reader, kMostRows), numbers<uint64_t>(reader, kMostRows),
                    numbers<uint64_t>(reader, kMostRows), numbers<uint32_t>(reader, kMostRows)};
  const auto samples = numbers<int64_t>(reader, kMostRows);
  const auto wanted = numbers<uint32_t>(reader, 3);
  const size_t count = samples.size();
  Found found{std::vector<int32_t>(count), std::vector<uint64_t>(count), std::vector<uint64_t>(count)};
  std::vector<int32_t> choices(count);
  if (tar::locate(index.columns(), samples, wanted, {found.offsets.data(), found.sizes.data(), choices.data()})) {
    for (size_t i = 0; i < count; ++i) {
      check_row(index, samples[i], wanted, found.offsets[i], found.sizes[i], choices[i]);
    }
  }
  auto places = numbers<int32_t>(reader, kMostRows);
  places.resize(count);
  const tar::ShardFields shard{0, index.columns(), {wanted}};
  const std::vector<const tar::ShardFields*> shards{&shard, nullptr};
  const tar::LocatedRows out{found.fds.data(), {found.offsets.data(), found.sizes.data(), choices.data()}};
  if (!tar::locate_rows({shards, places, samples}, reader.byte() % 2, out)) return {};
  for (size_t i = 0; i < count; ++i) promise((found.fds[i] >= 0) == (choices[i] >= 0), "what is found has a file");
  return found;
}

void try_place(ByteReader& reader) {
  const auto ends = numbers<int64_t>(reader, kMostRows);
  const auto ids = numbers<int64_t>(reader, kMostRows);
  tar::Placed placed;
  if (!tar::place_samples(ends, ids, placed)) return;
  promise(placed.places.size() == ids.size() && placed.samples.size() == ids.size(), "every sample has a place");
  promise(std::is_sorted(placed.shards.begin(), placed.shards.end()), "shards rise");
  for (size_t i = 0; i < ids.size(); ++i) {
    promise(placed.places[i] >= 0 && static_cast<size_t>(placed.places[i]) < placed.shards.size(), "a place exists");
    const auto shard = static_cast<size_t>(placed.shards[static_cast<size_t>(placed.places[i])]);
    promise(shard < ends.size() && placed.samples[i] >= 0, "a shard exists, and its samples begin at 0");
    promise(placed.samples[i] + (shard == 0 ? 0 : ends[shard - 1]) == ids[i], "a sample is found again");
  }
}

void check_reads(const io::ReadPlan& plan, const Found& wanted) {
  for (size_t i = 0; i < wanted.fds.size(); ++i) {
    const io::Landing& landing = plan.landings()[i];
    promise((landing.read == io::kNoRead) == (wanted.fds[i] < 0), "what is wanted is read");
    if (landing.read == io::kNoRead) continue;
    const io::Read& read = plan.reads()[landing.read];
    promise(read.place <= plan.size() && read.size <= plan.size() - read.place, "a read ends in the arena");
    promise(landing.place >= read.place && landing.place - read.place == wanted.offsets[i] - read.offset,
            "a range lies where it is read to");
    promise(wanted.sizes[i] <= read.size - (landing.place - read.place), "a range ends in its read");
  }
}

void check_bytes(const io::ReadPlan& plan, const Found& wanted) {
  std::vector<uint8_t> arena(plan.size());
  const std::vector<int32_t> status = plan.run(arena.data());
  for (size_t i = 0; i < wanted.fds.size(); ++i) {
    const uint64_t offset = wanted.offsets[i], size = wanted.fds[i] < 0 ? 0 : wanted.sizes[i];
    const bool inside = size == 0 || (offset <= kFileBytes && size <= kFileBytes - offset);
    promise((status[i] == kRead) == inside || size == 0, "a range is read where the file has it");
    if (status[i] != kRead) continue;
    for (uint64_t byte = 0; byte < size; ++byte) {
      promise(arena[plan.landings()[i].place + byte] == pattern(offset + byte), "bytes are those of the file");
    }
  }
}

void try_reads(const Found& found) {
  static const int fd = pattern_file();
  Found wanted = found;
  for (int32_t& file : wanted.fds) file = file < 0 ? -1 : fd;
  try {
    const io::ReadPlan plan({wanted.fds, wanted.offsets, wanted.sizes});
    check_reads(plan, wanted);
    if (plan.size() <= kMostArena) check_bytes(plan, wanted);
  } catch (const std::length_error&) {
    const auto sum = [](const std::vector<uint64_t>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0L,
                             [](long double total, uint64_t value) { return total + static_cast<long double>(value); });
    };
    promise(sum(wanted.offsets) + sum(wanted.sizes) > 0x1p60L, "only what no memory holds is refused");
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  ByteReader reader(data, size);
  try_reads(try_locate(reader));
  try_place(reader);
  // Ranges that no index check has seen.
  Found raw{numbers<int32_t>(reader, kMostRows), numbers<uint64_t>(reader, kMostRows),
            numbers<uint64_t>(reader, kMostRows)};
  raw.offsets.resize(raw.fds.size());
  raw.sizes.resize(raw.fds.size());
  try_reads(raw);
  return 0;
}
