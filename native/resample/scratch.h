// What a thread keeps between images.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "resample/simd.h"
#include "resample/taps.h"

namespace headrace {

// Memory and tables that one thread reuses from image to image. Not for two threads at once.
class Scratch {
 public:
  explicit Scratch(const SimdPath& path = best_path()) : path_(&path) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const SimdPath& path() const { return *path_; }

  // The weights of a resize, computed or remembered. The reference lives until kNumTables - 1 other ones were asked
  // for.
  Taps& taps(int in_size, int out_size, Filter filter);

  // Rows between the two passes.
  std::vector<uint8_t> lines;
  // Copy of a source row, with room to read past its end.
  std::vector<uint8_t> padded_row;
  // The rows that make one output row.
  std::vector<const uint8_t*> rows;
  // Source columns of a nearest-neighbour resize.
  std::vector<int32_t> columns;

 private:
  // Photographs come in few sizes: Resize of a common set needs about ten tables. Random crops never repeat, and more
  // tables would only push them out of the cache.
  static constexpr int kNumTables = 16;
  struct Table {
    Taps taps;
    uint64_t last_use = 0;
  };

  const SimdPath* path_;
  std::array<Table, kNumTables> tables_;
  uint64_t uses_ = 0;
};

}  // namespace headrace
