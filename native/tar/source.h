// Bytes at an offset, wherever they come from: an open file, or memory (tests and fuzzing).
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace headrace::tar {

class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Reads up to `num_bytes` at `offset`; gives the bytes read (fewer only at the end), or -errno.
  virtual ssize_t read_at(uint8_t* to, size_t num_bytes, uint64_t offset) = 0;
};

// Plain reads, no map: a file that somebody cuts meanwhile gives a short read, not SIGBUS.
class FileSource final : public Source {
 public:
  FileSource(int fd, uint64_t size) : fd_(fd), size_(size) {}
  uint64_t size() const override { return size_; }
  ssize_t read_at(uint8_t* to, size_t num_bytes, uint64_t offset) override;

 private:
  int fd_;
  uint64_t size_;
};

class MemorySource final : public Source {
 public:
  MemorySource(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint64_t size() const override { return size_; }
  ssize_t read_at(uint8_t* to, size_t num_bytes, uint64_t offset) override;

 private:
  const uint8_t* data_;
  uint64_t size_;
};

}  // namespace headrace::tar
