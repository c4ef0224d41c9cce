#include "png/unfilter.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace headrace {
namespace {

constexpr size_t kBlock = 8;

uint64_t block_at(const uint8_t* bytes) {
  uint64_t block;
  std::memcpy(&block, bytes, kBlock);
  return block;
}

uint64_t repeated(uint8_t byte) { return byte * uint64_t{0x0101010101010101}; }

uint8_t paeth(int left, int up, int corner) {
  const int to_left = std::abs(up - corner), to_up = std::abs(left - corner),
            to_corner = std::abs(left + up - 2 * corner);
  if (to_left <= to_up && to_left <= to_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(to_up <= to_corner ? up : corner);
}

void undo_sub(const uint8_t* row, size_t width, uint8_t* dst) {
  uint8_t left = 0;
  for (size_t x = 0; x < width; ++x) dst[x] = left = static_cast<uint8_t>(row[x] + left);
}

void undo_up(const uint8_t* row, const uint8_t* up, size_t width, uint8_t* dst) {
  for (size_t x = 0; x < width; ++x) dst[x] = static_cast<uint8_t>(row[x] + up[x]);
}

void undo_average(const uint8_t* row, const uint8_t* up, size_t width, uint8_t* dst) {
  int left = 0;
  for (size_t x = 0; x < width; ++x) {
    left = static_cast<uint8_t>(row[x] + (left + up[x]) / 2);
    dst[x] = static_cast<uint8_t>(left);
  }
}

// Each byte waits for the one before it. Masks are mostly flat, and there a block comes at once: where the row above
// does not change, Paeth predicts the byte to the left, so zeros repeat it.
void undo_paeth(const uint8_t* row, const uint8_t* up, size_t width, uint8_t* dst) {
  uint8_t left = 0, corner = 0;
  size_t x = 0;
  while (x < width) {
    if (x + kBlock <= width && block_at(row + x) == 0 && block_at(up + x) == repeated(corner)) {
      std::memset(dst + x, left, kBlock);
      x += kBlock;
      continue;
    }
    const uint8_t above = up[x];
    dst[x] = left = static_cast<uint8_t>(row[x] + paeth(left, above, corner));
    corner = above;
    ++x;
  }
}

}  // namespace

bool unfilter(const uint8_t* filtered, size_t height, size_t width, uint8_t* dst) {
  const std::vector<uint8_t> nothing(width);
  const uint8_t* up = nothing.data();
  for (size_t y = 0; y < height; ++y, filtered += width + 1, up = dst, dst += width) {
    const uint8_t* row = filtered + 1;
    switch (filtered[0]) {
      case 0:
        std::memcpy(dst, row, width);
        break;
      case 1:
        undo_sub(row, width, dst);
        break;
      case 2:
        undo_up(row, up, width, dst);
        break;
      case 3:
        undo_average(row, up, width, dst);
        break;
      case 4:
        undo_paeth(row, up, width, dst);
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace headrace
