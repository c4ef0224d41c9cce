#include "io/whole_files.h"

#include <unistd.h>

#include <algorithm>

#include "io/pread.h"

namespace headrace::io {

WholeFiles::WholeFiles(const std::vector<std::string>& paths) {
  files_.reserve(paths.size());
  for (const std::string& path : paths) {
    files_.push_back(open_file(path));
    size_ += files_.back().size;
  }
}

std::vector<int32_t> WholeFiles::read(uint8_t* arena) {
  std::vector<int32_t> status;
  for (const Opened& file : files_) status.push_back(file.error_number);
  if (std::all_of(status.begin(), status.end(), [](int32_t code) { return code == 0; })) {
    for (size_t i = 0; i < files_.size(); ++i) {
      status[i] = read_all(files_[i].fd, 0, files_[i].size, arena).status;
      arena += files_[i].size;
    }
  }
  close_all();
  return status;
}

void WholeFiles::close_all() {
  for (Opened& file : files_) {
    if (file.fd >= 0) close(file.fd);
    file.fd = -1;
  }
}

}  // namespace headrace::io
