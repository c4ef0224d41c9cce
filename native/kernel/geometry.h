// What happens to the pixels of each image of a batch, as data.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "jpeg/limits.h"
#include "resample/resample.h"

namespace headrace {

enum class GeometryKind {
  full,
  random_resized_crop,
  resize_center_crop,
  resize_random_crop,
  center_crop,
  random_crop,
  boxes,
};

std::optional<GeometryKind> geometry_kind(std::string_view name);

struct Geometry {
  GeometryKind kind = GeometryKind::full;
  int height = 0, width = 0;  // of what comes out; 0: whatever turns out
  Filter filter = Filter::bilinear;
  double scale[2] = {0.08, 1.0};      // share of the image's area
  double ratio[2] = {0.75, 4.0 / 3};  // width / height
  double log_ratio[2] = {0.0, 0.0};
  int resize_height = 0;  // of the shorter edge where resize_width is 0; 0: no resize
  int resize_width = 0;
  int max_size = 0;  // of the longer edge; 0: no cap
  uint32_t crop_op = 0;
  double flip_probability = 0.0;
  uint32_t flip_op = 0;
  bool flip_first = false;  // before the resize, not after
  bool apply_exif = false;
  bool dct_scaling = false;
  DecodeLimits limits;
};

}  // namespace headrace
