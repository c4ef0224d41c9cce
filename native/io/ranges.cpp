#include "io/ranges.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace headrace::io {

namespace {

constexpr uint64_t kLargestCall = uint64_t{1} << 30;

// Bytes read, and why no more.
struct Outcome {
  uint64_t done;
  int32_t status;
};

Outcome read_all(int fd, uint64_t offset, uint64_t size, uint8_t* to) {
  uint64_t done = 0;
  while (done < size) {
    const size_t part = static_cast<size_t>(std::min(size - done, kLargestCall));
    const ssize_t got = pread(fd, to + done, part, static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<uint64_t>(got);
    } else if (got == 0) {
      return {done, kEnded};
    } else if (errno != EINTR) {
      return {done, errno};
    }
  }
  return {done, 0};
}

// Whether range i + 1 goes on where range i ends, in the file and in memory.
bool adjoins(const Ranges& ranges, size_t i) {
  return ranges.fds[i] == ranges.fds[i + 1] && ranges.offsets[i] + ranges.sizes[i] == ranges.offsets[i + 1] &&
         ranges.addresses[i] + ranges.sizes[i] == ranges.addresses[i + 1];
}

}  // namespace

void read_ranges(const Ranges& ranges, int32_t* status) {
  const size_t count = ranges.fds.size();
  for (size_t first = 0; first < count;) {
    size_t last = first;
    uint64_t size = ranges.sizes[first];
    while (last + 1 < count && adjoins(ranges, last)) size += ranges.sizes[++last];
    auto* to = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(ranges.addresses[first]));
    const Outcome outcome = read_all(ranges.fds[first], ranges.offsets[first], size, to);
    uint64_t end = 0;
    for (size_t i = first; i <= last; ++i) {
      end += ranges.sizes[i];
      status[i] = end <= outcome.done ? 0 : outcome.status;
    }
    first = last + 1;
  }
}

}  // namespace headrace::io
