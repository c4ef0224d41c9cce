// Open files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace headrace::io {

struct Opened {
  int fd = -1;
  uint64_t size = 0;
  int error_number = 0;
};

// Opens a file for reading, close-on-exec. A directory gives EISDIR.
Opened open_file(const std::string& path);

// Asks the system to begin writing a range of a file to the disk now; a hint, nothing where the system has no such
// call.
void start_writeback(int fd, uint64_t offset, uint64_t size);

}  // namespace headrace::io
