#include "resample/nearest.h"

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

// Walks over the source positions of successive outputs. Pillow adds the scale again and again, and the rounding errors
// of these sums decide pixels; a product in closed form differs in one size out of ten.
class Walk {
 public:
  Walk(int in_size, int out_size, int begin)
      : last_(in_size - 1), scale_(static_cast<double>(in_size) / out_size), position_(scale_ * 0.5) {
    for (int i = 0; i < begin; ++i) position_ += scale_;
  }

  int next() {
    const int index = std::min(static_cast<int>(position_), last_);
    position_ += scale_;
    return index;
  }

 private:
  int last_;
  double scale_;
  double position_;
};

void copy_pixels(const uint8_t* row, int bytes_per_pixel, const std::vector<int32_t>& columns, int width,
                 uint8_t* dst) {
  for (int x = 0; x < width; ++x, dst += 4) {
    const uint8_t* pixel = row + static_cast<ptrdiff_t>(columns[x]) * bytes_per_pixel;
    dst[0] = pixel[0];
    dst[1] = pixel[1];
    dst[2] = pixel[2];
    dst[3] = 0;
  }
}

}  // namespace

Span nearest_span(int in_size, int out_size, int begin, int size) {
  Walk walk(in_size, out_size, begin);
  const int first = walk.next();
  int last = first;
  for (int i = 1; i < size; ++i) last = walk.next();
  return {first, last + 1};
}

void resize_nearest(const Pixels& src, Window region, int in_width, int in_height, int out_width, int out_height,
                    Window out, Scratch& scratch, uint8_t* dst, ptrdiff_t dst_stride) {
  std::vector<int32_t>& columns = scratch.columns;
  columns.resize(std::max<size_t>(columns.size(), out.width));
  Walk across(in_width, out_width, out.left);
  for (int x = 0; x < out.width; ++x) columns[x] = across.next() - region.left;
  Walk down(in_height, out_height, out.top);
  int previous = -1;
  for (int y = 0; y < out.height; ++y) {
    const int row = down.next();
    uint8_t* target = dst + y * dst_stride;
    if (row == previous) {
      std::memcpy(target, target - dst_stride, static_cast<size_t>(out.width) * 4);
    } else {
      const uint8_t* source = src.data + static_cast<ptrdiff_t>(row - region.top) * src.stride;
      copy_pixels(source, src.bytes_per_pixel, columns, out.width, target);
    }
    previous = row;
  }
}

}  // namespace headrace
