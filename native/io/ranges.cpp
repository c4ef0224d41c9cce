#include "io/ranges.h"

#include <cstddef>

#include "io/pread.h"

namespace headrace::io {

namespace {

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
    const PartRead outcome = read_all(ranges.fds[first], ranges.offsets[first], size, to);
    uint64_t end = 0;
    for (size_t i = first; i <= last; ++i) {
      end += ranges.sizes[i];
      status[i] = end <= outcome.done ? 0 : outcome.status;
    }
    first = last + 1;
  }
}

}  // namespace headrace::io
