#include "tar/source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headrace::tar {

ssize_t FileSource::read_at(uint8_t* to, size_t num_bytes, uint64_t offset) {
  size_t done = 0;
  while (done < num_bytes) {
    const ssize_t got = pread(fd_, to + done, num_bytes - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return -errno;
    }
  }
  return static_cast<ssize_t>(done);
}

ssize_t MemorySource::read_at(uint8_t* to, size_t num_bytes, uint64_t offset) {
  if (offset >= size_) return 0;
  const size_t count = static_cast<size_t>(std::min<uint64_t>(num_bytes, size_ - offset));
  std::memcpy(to, data_ + offset, count);
  return static_cast<ssize_t>(count);
}

}  // namespace headrace::tar
