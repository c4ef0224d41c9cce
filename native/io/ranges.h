// Many ranges of open files, read to many addresses.
#pragma once
#include <cstdint>
#include <span>

namespace headrace::io {

struct Ranges {
  std::span<const int32_t> fds;
  std::span<const uint64_t> offsets;
  std::span<const uint64_t> sizes;
  std::span<const uint64_t> addresses;
};

// Status of each range: 0 read, > 0 errno, kEnded where the file ended before the range did.
inline constexpr int32_t kEnded = -1;

void read_ranges(const Ranges& ranges, int32_t* status);

}  // namespace headrace::io
