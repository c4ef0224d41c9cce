// Plain C++: the reference of the other paths, and what runs where none of them does.
#include <algorithm>
#include <array>

#include "resample/simd.h"

namespace headrace {
namespace {

uint8_t round_and_clip(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255)); }

template <int BytesPerPixel>
void horizontal(const uint8_t* row, int origin, const Taps& taps, int begin, int count, uint8_t* dst) {
  for (int i = 0; i < count; ++i) {
    const int index = begin + i;
    const uint8_t* pixel = row + static_cast<ptrdiff_t>(taps.first[index] - origin) * BytesPerPixel;
    const int32_t* weights = taps.weights_of(index);
    int32_t red = kWeightHalf, green = kWeightHalf, blue = kWeightHalf;
    for (int tap = 0; tap < taps.count[index]; ++tap, pixel += BytesPerPixel) {
      red += pixel[0] * weights[tap];
      green += pixel[1] * weights[tap];
      blue += pixel[2] * weights[tap];
    }
    dst[4 * i] = round_and_clip(red);
    dst[4 * i + 1] = round_and_clip(green);
    dst[4 * i + 2] = round_and_clip(blue);
    dst[4 * i + 3] = 0;
  }
}

void horizontal_any(const uint8_t* row, int bytes_per_pixel, int origin, const Taps& taps, int begin, int count,
                    uint8_t* dst) {
  if (bytes_per_pixel == 4) {
    horizontal<4>(row, origin, taps, begin, count, dst);
  } else {
    horizontal<3>(row, origin, taps, begin, count, dst);
  }
}

void vertical(const uint8_t* const* rows, const int32_t* weights, int num_rows, size_t num_bytes, uint8_t* dst) {
  constexpr size_t kBlock = 64;  // sums that stay in registers and the nearest cache
  for (size_t begin = 0; begin < num_bytes; begin += kBlock) {
    const size_t size = std::min(kBlock, num_bytes - begin);
    std::array<int32_t, kBlock> sums;
    sums.fill(kWeightHalf);
    for (int row = 0; row < num_rows; ++row) {
      const uint8_t* bytes = rows[row] + begin;
      const int32_t weight = weights[row];
      for (size_t i = 0; i < size; ++i) sums[i] += bytes[i] * weight;
    }
    for (size_t i = 0; i < size; ++i) dst[begin + i] = round_and_clip(sums[i]);
  }
}

void split(const uint8_t* row, int width, bool flip, uint8_t* red, uint8_t* green, uint8_t* blue) {
  for (int x = 0; x < width; ++x) {
    const uint8_t* pixel = row + 4 * static_cast<ptrdiff_t>(flip ? width - 1 - x : x);
    red[x] = pixel[0];
    green[x] = pixel[1];
    blue[x] = pixel[2];
  }
}

void pack(const uint8_t* row, int width, bool flip, uint8_t* dst) {
  for (int x = 0; x < width; ++x, dst += 3) {
    const uint8_t* pixel = row + 4 * static_cast<ptrdiff_t>(flip ? width - 1 - x : x);
    dst[0] = pixel[0];
    dst[1] = pixel[1];
    dst[2] = pixel[2];
  }
}

}  // namespace

const SimdPath kPortablePath{"portable", nullptr, horizontal_any, vertical, split, pack};

}  // namespace headrace
