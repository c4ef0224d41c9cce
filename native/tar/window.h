// Reads for somebody who goes forwards through the headers of a file: few large reads where the headers lie close
// together, short ones where much data lies between them.
#pragma once
#include <cstdint>
#include <memory>

#include "tar/source.h"

namespace headrace::tar {

class Window {
 public:
  explicit Window(Source& source);

  // `num_bytes` (kLargestRead at most) at `offset`, valid until the next call; null where the file has fewer, or a read
  // failed (then `error_number` is not 0).
  const uint8_t* at(uint64_t offset, size_t num_bytes);
  int error_number() const { return error_number_; }

  static constexpr size_t kLargestRead = size_t{1} << 20;

 private:
  size_t read_size(uint64_t offset, size_t num_bytes, uint64_t distance) const;

  Source& source_;
  std::unique_ptr<uint8_t[]> buffer_;
  uint64_t start_ = 0;
  size_t filled_ = 0;
  uint64_t last_offset_ = 0;
  uint64_t last_distance_ = 0;  // between the two offsets asked for last
  uint64_t mean_distance_ = 0;  // a running mean of it
  int error_number_ = 0;
};

}  // namespace headrace::tar
