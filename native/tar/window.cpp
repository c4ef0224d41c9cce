#include "tar/window.h"

#include <algorithm>

namespace headrace::tar {

namespace {
// Up to this mean distance it is cheaper to copy what lies between two headers than to make a call for each.
constexpr uint64_t kNear = 6 * 1024;
constexpr size_t kBatch = 256 * 1024;
// Covers the header asked for, a small member (a label), and the header after it: read where one of the last two
// members was that small. Where all members are large, only what is asked for is read.
constexpr size_t kShort = 3 * 512;
}  // namespace

Window::Window(Source& source)
    : source_(source), buffer_(new uint8_t[std::min<uint64_t>(kLargestRead, source.size())]) {}

const uint8_t* Window::at(uint64_t offset, size_t num_bytes) {
  const uint64_t distance = std::min<uint64_t>(offset - last_offset_, uint64_t{1} << 40);
  mean_distance_ = (mean_distance_ * 7 + distance) / 8;
  const uint64_t shorter = std::min(distance, last_distance_);
  last_offset_ = offset;
  last_distance_ = distance;
  if (offset >= start_ && offset + num_bytes <= start_ + filled_) return buffer_.get() + (offset - start_);
  const uint64_t size = source_.size();
  if (num_bytes > kLargestRead || offset > size || num_bytes > size - offset) return nullptr;
  const ssize_t got = source_.read_at(buffer_.get(), read_size(offset, num_bytes, shorter), offset);
  start_ = offset;
  filled_ = got > 0 ? static_cast<size_t>(got) : 0;
  if (got < 0) error_number_ = static_cast<int>(-got);
  return filled_ >= num_bytes ? buffer_.get() : nullptr;
}

size_t Window::read_size(uint64_t offset, size_t num_bytes, uint64_t distance) const {
  const size_t ahead = mean_distance_ <= kNear ? kBatch : distance < kShort ? kShort : 0;
  const uint64_t wanted = std::max(num_bytes, ahead);
  return static_cast<size_t>(std::min<uint64_t>(wanted, source_.size() - offset));
}

}  // namespace headrace::tar
