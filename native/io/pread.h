// One range of a file, whole: interrupted and short reads go on.
#pragma once
#include <cstdint>

namespace headrace::io {

// Status of a range that was not read: an errno, or this where the file ended before the range did.
inline constexpr int32_t kEnded = -1;

struct PartRead {
  uint64_t done;   // bytes read
  int32_t status;  // 0, or why no more
};

PartRead read_all(int fd, uint64_t offset, uint64_t size, uint8_t* to);

}  // namespace headrace::io
