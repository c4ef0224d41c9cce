#include "kernel/draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "random/exact_math.h"

namespace headrace {
namespace {

int at_least_one(double length) { return std::max(static_cast<int>(round_half_even(length)), 1); }

// The whole image, or what is left of it when one edge is cut to the nearest ratio.
Window largest_box(const Geometry& geometry, Size image) {
  const double ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
  Size box = image;
  if (ratio < geometry.ratio[0]) {
    box.height = at_least_one(image.width / geometry.ratio[0]);
  } else if (ratio > geometry.ratio[1]) {
    box.width = at_least_one(image.height * geometry.ratio[1]);
  }
  return {.left = (image.width - box.width) / 2,
          .top = (image.height - box.height) / 2,
          .width = box.width,
          .height = box.height};
}

double between(const double (&range)[2], double share) { return range[0] + share * (range[1] - range[0]); }

}  // namespace

Window draw_random_resized_crop(const Stream& stream, const Geometry& geometry, Size image) {
  constexpr uint32_t kTries = 10, kNumbersPerTry = 4;
  const double area = static_cast<double>(int64_t{image.height} * image.width);
  for (uint32_t index = 0; index < kTries * kNumbersPerTry; index += kNumbersPerTry) {
    const double wanted = area * between(geometry.scale, stream.uniform(geometry.crop_op, index));
    const double ratio = exact_exp(between(geometry.log_ratio, stream.uniform(geometry.crop_op, index + 1)));
    const double width = round_half_even(std::sqrt(wanted * ratio));
    const double height = round_half_even(std::sqrt(wanted / ratio));
    if (width < 1 || width > image.width || height < 1 || height > image.height) continue;
    const Size box = {static_cast<int>(height), static_cast<int>(width)};
    return {.left = stream.below(image.width - box.width + 1, geometry.crop_op, index + 3),
            .top = stream.below(image.height - box.height + 1, geometry.crop_op, index + 2),
            .width = box.width,
            .height = box.height};
  }
  return largest_box(geometry, image);
}

Window draw_random_crop(const Stream& stream, uint32_t op, Size crop, Size image) {
  return {.left = stream.below(image.width - crop.width + 1, op, 1),
          .top = stream.below(image.height - crop.height + 1, op, 0),
          .width = crop.width,
          .height = crop.height};
}

bool draw_flip(const Stream& stream, const Geometry& geometry) {
  return geometry.flip_probability > 0 && stream.uniform(geometry.flip_op, 0) < geometry.flip_probability;
}

Window center_box(Size crop, Size image) {
  return {.left = static_cast<int>(round_half_even((image.width - crop.width) / 2.0)),
          .top = static_cast<int>(round_half_even((image.height - crop.height) / 2.0)),
          .width = crop.width,
          .height = crop.height};
}

Size resized_size(const Geometry& geometry, Size image) {
  if (geometry.resize_height == 0) return image;
  if (geometry.resize_width != 0) return {geometry.resize_height, geometry.resize_width};
  const auto [short_edge, long_edge] = std::minmax(image.height, image.width);
  int64_t new_short = geometry.resize_height;
  int64_t new_long = new_short * long_edge / short_edge;
  if (geometry.max_size != 0 && new_long > geometry.max_size) {
    new_short = geometry.max_size * new_short / new_long;
    new_long = geometry.max_size;
  }
  // A line of 1 x 2^24 pixels can become longer than an int holds; then it is over any limit, not short again.
  constexpr int64_t kLongest = std::numeric_limits<int>::max();
  const int shorter = static_cast<int>(new_short), longer = static_cast<int>(std::min(new_long, kLongest));
  return image.width <= image.height ? Size{longer, shorter} : Size{shorter, longer};
}

}  // namespace headrace
