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

// Copies, since neither address need be a multiple of the element's size; compilers make one load and one store of it.
template <typename Element>
void gather(const uint8_t* row, const std::vector<int32_t>& columns, int width, uint8_t* dst) {
  for (int x = 0; x < width; ++x, dst += sizeof(Element)) {
    std::memcpy(dst, row + sizeof(Element) * static_cast<size_t>(columns[x]), sizeof(Element));
  }
}

using Gather = void (*)(const uint8_t*, const std::vector<int32_t>&, int, uint8_t*);

constexpr int64_t kMaxEdge = int64_t{1} << 30;

// Whether (top, left, height, width) lies in `height` x `width` pixels and is not empty.
bool is_inside(const int64_t* box, int64_t height, int64_t width) {
  return box[0] >= 0 && box[1] >= 0 && box[2] > 0 && box[3] > 0 && box[2] <= height && box[3] <= width &&
         box[0] <= height - box[2] && box[1] <= width - box[3];
}

Window window_of(const int64_t* box) {
  return {.left = static_cast<int>(box[1]),
          .top = static_cast<int>(box[0]),
          .width = static_cast<int>(box[3]),
          .height = static_cast<int>(box[2])};
}

Gather gather_of(int element_size) {
  if (element_size == 1) return gather<uint8_t>;
  if (element_size == 2) return gather<uint16_t>;
  return element_size == 4 ? gather<uint32_t> : gather<uint64_t>;
}

}  // namespace

std::optional<MaskMove> checked_move(const int64_t* size, const int64_t* crop, const int64_t* resized,
                                     const int64_t* window) {
  if (std::max({size[0], size[1], resized[0], resized[1]}) > kMaxEdge) return {};
  if (!is_inside(crop, size[0], size[1]) || !is_inside(window, resized[0], resized[1])) return {};
  return MaskMove{.data = nullptr,
                  .width = static_cast<int>(size[1]),
                  .crop = window_of(crop),
                  .resized_width = static_cast<int>(resized[1]),
                  .resized_height = static_cast<int>(resized[0]),
                  .window = window_of(window),
                  .flip = false,
                  .flip_first = false};
}

void move_mask(const MaskMove& move, int element_size, std::vector<int32_t>& columns, uint8_t* dst) {
  const Window& window = move.window;
  columns.resize(std::max<size_t>(columns.size(), window.width));
  const TorchNearest across(move.crop.width, move.resized_width), down(move.crop.height, move.resized_height);
  for (int x = 0; x < window.width; ++x) {
    const int output = window.left + (move.flip && !move.flip_first ? window.width - 1 - x : x);
    const int source = across(output);
    columns[x] = move.crop.left + (move.flip && move.flip_first ? move.crop.width - 1 - source : source);
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
