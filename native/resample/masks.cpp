#include "resample/masks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headrace {
namespace {

// torch's nearest (`nearest_idx` in ATen's UpSample.h): floor(i * (in / out)) in float32, which is another rule than
// Pillow's.
class TorchNearest {
 public:
  TorchNearest(int in_size, int out_size)
      : last_(in_size - 1), scale_(static_cast<float>(in_size) / static_cast<float>(out_size)) {}

  int operator()(int output) const {
    return std::min(static_cast<int>(std::floor(static_cast<float>(output) * scale_)), last_);
  }

 private:
  int last_;
  float scale_;
};

template <typename Element>
void gather(const uint8_t* row, const std::vector<int32_t>& columns, int width, uint8_t* dst) {
  const auto* from = reinterpret_cast<const Element*>(row);
  auto* to = reinterpret_cast<Element*>(dst);
  for (int x = 0; x < width; ++x) to[x] = from[columns[x]];
}

using Gather = void (*)(const uint8_t*, const std::vector<int32_t>&, int, uint8_t*);

Gather gather_of(int element_size) {
  if (element_size == 1) return gather<uint8_t>;
  if (element_size == 2) return gather<uint16_t>;
  return element_size == 4 ? gather<uint32_t> : gather<uint64_t>;
}

}  // namespace

void move_mask(const MaskMove& move, int element_size, std::vector<int32_t>& columns, uint8_t* dst) {
  const Window& window = move.window;
  columns.resize(std::max<size_t>(columns.size(), window.width));
  const TorchNearest across(move.crop.width, move.resized_width), down(move.crop.height, move.resized_height);
  for (int x = 0; x < window.width; ++x) {
    const int output = window.left + (move.flip ? window.width - 1 - x : x);
    columns[x] = move.crop.left + across(output);
  }
  const Gather gather_row = gather_of(element_size);
  const size_t row_bytes = static_cast<size_t>(window.width) * element_size;
  const size_t source_bytes = static_cast<size_t>(move.width) * element_size;
  int previous = -1;
  for (int y = 0; y < window.height; ++y, dst += row_bytes) {
    const int row = move.crop.top + down(window.top + y);
    if (row == previous) {
      std::memcpy(dst, dst - row_bytes, row_bytes);
    } else {
      gather_row(move.data + source_bytes * row, columns, window.width, dst);
    }
    previous = row;
  }
}

}  // namespace headrace
