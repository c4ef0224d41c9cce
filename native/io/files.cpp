#include "io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace headrace::io {

namespace {
int open_retrying(const char* path) {
  int fd = -1;
  do {
    // Without O_NONBLOCK opening a named pipe would wait for its writer. Regular files do not know the flag.
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  return fd;
}
}  // namespace

Opened open_file(const std::string& path) {
  const int fd = open_retrying(path.c_str());
  if (fd < 0) return {-1, 0, errno};
  struct stat facts{};
  int error_number = fstat(fd, &facts) != 0 ? errno : 0;
  if (error_number == 0 && S_ISDIR(facts.st_mode)) error_number = EISDIR;
  if (error_number == 0 && !S_ISREG(facts.st_mode)) error_number = ESPIPE;
  if (error_number != 0) {
    close(fd);
    return {-1, 0, error_number};
  }
  return {fd, static_cast<uint64_t>(facts.st_size), 0};
}

void start_writeback(int fd, uint64_t offset, uint64_t size) {
#if defined(SYNC_FILE_RANGE_WRITE)
  (void)sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE);
#else
  (void)fd;
  (void)offset;
  (void)size;
#endif
}

}  // namespace headrace::io
