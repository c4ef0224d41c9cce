#include "io/cached_ranges.h"

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "io/pread.h"

namespace headrace::io {

namespace {

// Bytes read without waiting for storage, fewer than asked for where the rest is not in the page cache; 0 where this
// cannot be had.
uint64_t read_now(int fd, uint64_t offset, uint64_t size, uint8_t* to) {
#if defined(RWF_NOWAIT)
  constexpr uint64_t kLargestCall = uint64_t{1} << 30;
  const iovec part = {.iov_base = to, .iov_len = static_cast<size_t>(std::min(size, kLargestCall))};
  ssize_t got = -1;
  do {
    got = preadv2(fd, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? static_cast<uint64_t>(got) : 0;
#else
  (void)fd;
  (void)offset;
  (void)size;
  (void)to;
  return 0;
#endif
}

}  // namespace

CachedRanges::CachedRanges(std::span<const int32_t> fds, std::span<const uint64_t> offsets,
                           std::span<const uint64_t> sizes)
    : fds_(fds.begin(), fds.end()), offsets_(offsets.begin(), offsets.end()), sizes_(sizes.begin(), sizes.end()) {}

bool CachedRanges::all_there() const {
  for (size_t i = 0; i < count(); ++i) {
    uint8_t byte = 0;
    if (sizes_[i] != 0 && read_now(fds_[i], offsets_[i] + sizes_[i] - 1, 1, &byte) != 1) return false;
  }
  return true;
}

bool CachedRanges::copy(size_t index, uint8_t* to) const {
  uint64_t done = 0;
  while (done < sizes_[index]) {
    const uint64_t got = read_now(fds_[index], offsets_[index] + done, sizes_[index] - done, to + done);
    if (got == 0) return wait_for(fds_[index], offsets_[index] + done, sizes_[index] - done, to + done);
    done += got;
  }
  return true;
}

bool CachedRanges::wait_for(int fd, uint64_t offset, uint64_t size, uint8_t* to) const {
  if (waited_ns() >= kMostWaitNs) return false;
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const PartRead outcome = read_all(fd, offset, size, to);
  const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began);
  waited_ns_.fetch_add(waited.count(), std::memory_order_relaxed);
  return outcome.status == 0;
}

}  // namespace headrace::io
