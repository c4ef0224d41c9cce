// Ranges of open files that lie in the system's page cache, to be copied where they are used.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::io {

class CachedRanges {
 public:
  // Range i: `sizes[i]` bytes of the open file `fds[i]` from `offsets[i]` on. The files stay the caller's, who keeps
  // them open.
  CachedRanges(std::span<const int32_t> fds, std::span<const uint64_t> offsets, std::span<const uint64_t> sizes);

  size_t count() const { return sizes_.size(); }
  const std::vector<uint64_t>& sizes() const { return sizes_; }

  // Whether the last byte of every range is in the page cache: as a rule the whole range is then. False where the
  // system, or the file system, does not tell.
  bool all_there() const;

  // Copies a range; from several threads at a time. A few pages that cannot be had at once are waited for: the system
  // also refuses pages that are there, where it has read them ahead and meant to read on behind them, and takes single
  // ones for other uses. Once all copies together have waited for `kMostWaitNs`, what is not there is left. False then,
  // where the file ends before the range, and where it cannot be read: whoever reads in the usual way learns why.
  bool copy(size_t index, uint8_t* to) const;

  // About what decoding a batch again takes.
  static constexpr int64_t kMostWaitNs = 20'000'000;

  // For how long copies have waited.
  int64_t waited_ns() const { return waited_ns_.load(std::memory_order_relaxed); }

 private:
  // The rest of a range, in the usual way, if there is patience left.
  bool wait_for(int fd, uint64_t offset, uint64_t size, uint8_t* to) const;

  std::vector<int32_t> fds_;
  std::vector<uint64_t> offsets_;
  std::vector<uint64_t> sizes_;
  mutable std::atomic<int64_t> waited_ns_ = 0;
};

}  // namespace headrace::io
