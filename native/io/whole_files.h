// Whole files, many at once, into one arena.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "io/files.h"

namespace headrace::io {

// Files that are open from the beginning until they are read.
class WholeFiles {
 public:
  explicit WholeFiles(const std::vector<std::string>& paths);
  ~WholeFiles() { close_all(); }
  WholeFiles(const WholeFiles&) = delete;
  WholeFiles& operator=(const WholeFiles&) = delete;

  const std::vector<Opened>& files() const { return files_; }
  // Of all files that could be opened.
  uint64_t size() const { return size_; }

  // Reads the files one after another to an arena of `size()` bytes, and closes them. For each file 0, or why it was
  // not read: the errno of opening it, or what `read_all` says. Where one could not be opened none is read.
  std::vector<int32_t> read(uint8_t* arena);

 private:
  void close_all();

  std::vector<Opened> files_;
  uint64_t size_ = 0;
};

}  // namespace headrace::io
