#include "io/pread.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace headrace::io {

PartRead read_all(int fd, uint64_t offset, uint64_t size, uint8_t* to) {
  constexpr uint64_t kLargestCall = uint64_t{1} << 30;
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

}  // namespace headrace::io
