// Open files and maps of whole files.
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

struct Map {
  const uint8_t* data = nullptr;
  size_t size = 0;
  int error_number = 0;
};

// Maps a whole file for reading and keeps no descriptor. An empty file gives no data and no error.
Map map_file(const std::string& path);
void unmap(const Map& map);

// Asks the system to begin writing a range of a file to the disk now; a hint, nothing where the system has no such
// call.
void start_writeback(int fd, uint64_t offset, uint64_t size);

}  // namespace headrace::io
