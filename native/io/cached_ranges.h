// Ranges of open files that lie in the system's page cache, to be copied where they are used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::io {

class CachedRanges {
 public:
  // Range i: `sizes[i]` bytes of the open file `fds[i]` from `offsets[i]` on. The files stay the caller's, who keeps
  // them open.
  CachedRanges(std::span<const int32_t> fds, std::span<const uint64_t> offsets, std::span<const uint64_t> sizes);

  size_t count() const { return sizes_.size(); }
  const std::vector<uint64_t>& sizes() const { return sizes_; }

  // Whether the last byte of every range is in the page cache: as a rule the whole range is then. False where the
  // system, or the file system, does not tell.
  bool all_there() const;

  // Copies a range without waiting for storage. False where a part of it is not in the page cache (any more), where
  // the file ends before it, and where it cannot be read: whoever reads in the usual way learns why.
  bool copy(size_t index, uint8_t* to) const;

 private:
  std::vector<int32_t> fds_;
  std::vector<uint64_t> offsets_;
  std::vector<uint64_t> sizes_;
};

}  // namespace headrace::io
