// Which reads get many ranges of open files into one arena.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::io {

// Ranges with less between them are read together: copying a page costs less than a second system call (about 0.3 us
// against 1 to 2 us from the page cache). The members of a sample lie 512 to 1,535 bytes apart.
inline constexpr uint64_t kMostGap = 4096;

struct Wanted {
  std::span<const int32_t> fds;  // below 0: there is no such range
  std::span<const uint64_t> offsets;
  std::span<const uint64_t> sizes;
};

struct Read {
  int32_t fd;
  uint64_t offset;  // in the file
  uint64_t size;
  uint64_t place;  // in the arena
};

// Where a range lies: `read` is kNoRead where there is no such range.
struct Landing {
  uint32_t read;
  uint64_t place;  // in the arena
};

inline constexpr uint32_t kNoRead = UINT32_MAX;

class ReadPlan {
 public:
  // Throws std::length_error where the ranges are more than any memory holds.
  explicit ReadPlan(const Wanted& wanted);

  const std::vector<Read>& reads() const { return reads_; }
  const std::vector<Landing>& landings() const { return landings_; }
  uint64_t size() const { return size_; }

  // Reads everything to an arena of `size()` bytes. For each range 0, or why it was not read, as `read_ranges` has it.
  std::vector<int32_t> run(uint8_t* arena) const;

 private:
  std::vector<Read> reads_;
  std::vector<Landing> landings_;
  std::vector<uint64_t> sizes_;  // of the ranges
  uint64_t size_ = 0;
};

}  // namespace headrace::io
