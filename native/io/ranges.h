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

// Status of each range: 0, or why it was not read (`io/pread.h`).
void read_ranges(const Ranges& ranges, int32_t* status);

}  // namespace headrace::io
