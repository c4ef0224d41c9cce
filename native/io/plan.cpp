#include "io/plan.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "io/pread.h"

namespace headrace::io {

namespace {

constexpr uint64_t kLargest = uint64_t{1} << 62;  // sums of two cannot wrap

// The ranges that there are, by file and offset.
std::vector<uint32_t> in_order(const Wanted& wanted) {
  std::vector<uint32_t> order;
  order.reserve(wanted.fds.size());
  for (uint32_t i = 0; i < wanted.fds.size(); ++i) {
    if (wanted.fds[i] < 0) continue;
    if (wanted.offsets[i] > kLargest || wanted.sizes[i] > kLargest) throw std::length_error("a range is too large");
    order.push_back(i);
  }
  const auto key = [&](uint32_t i) { return std::tuple(wanted.fds[i], wanted.offsets[i], i); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

ReadPlan::ReadPlan(const Wanted& wanted)
    : landings_(wanted.fds.size(), Landing{kNoRead, 0}), sizes_(wanted.sizes.begin(), wanted.sizes.end()) {
  uint64_t last_end = 0;
  for (const uint32_t i : in_order(wanted)) {
    const uint64_t offset = wanted.offsets[i], end = offset + wanted.sizes[i];
    const bool joins = !reads_.empty() && reads_.back().fd == wanted.fds[i] && offset <= last_end + kMostGap;
    if (!joins) reads_.push_back({wanted.fds[i], offset, 0, size_});
    Read& read = reads_.back();
    landings_[i] = {static_cast<uint32_t>(reads_.size() - 1), read.place + (offset - read.offset)};
    read.size = std::max(read.size, end - read.offset);
    size_ = read.place + read.size;
    last_end = end;
    if (size_ > kLargest) throw std::length_error("the ranges are too large together");
  }
}

std::vector<int32_t> ReadPlan::run(uint8_t* arena) const {
  std::vector<PartRead> parts;
  parts.reserve(reads_.size());
  for (const Read& read : reads_) parts.push_back(read_all(read.fd, read.offset, read.size, arena + read.place));
  std::vector<int32_t> status(landings_.size());
  for (size_t i = 0; i < landings_.size(); ++i) {
    if (landings_[i].read == kNoRead) continue;
    const PartRead& part = parts[landings_[i].read];
    const uint64_t end = landings_[i].place - reads_[landings_[i].read].place + sizes_[i];
    status[i] = end <= part.done ? 0 : part.status;
  }
  return status;
}

}  // namespace headrace::io
