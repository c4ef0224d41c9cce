// Geometries and limits of fuzzed images.
#pragma once
#include <iterator>

#include "kernel/geometry.h"

namespace headrace {

inline DecodeLimits small_limits() { return {.pixels = 1 << 16, .scans = 20, .decoder_bytes = 1 << 24}; }

// One of every kind, filter and flag, from four bytes.
inline Geometry geometry_of(const uint8_t* choices) {
  constexpr GeometryKind kKinds[] = {GeometryKind::full,
                                     GeometryKind::random_resized_crop,
                                     GeometryKind::resize_center_crop,
                                     GeometryKind::resize_random_crop,
                                     GeometryKind::center_crop,
                                     GeometryKind::random_crop,
                                     GeometryKind::boxes};
  constexpr Filter kFilters[] = {Filter::nearest, Filter::bilinear, Filter::bicubic};
  Geometry geometry;
  geometry.kind = kKinds[choices[0] % std::size(kKinds)];
  geometry.filter = kFilters[choices[1] % std::size(kFilters)];
  geometry.height = 1 + choices[2] % 32;
  geometry.width = 1 + choices[3] % 32;
  geometry.resize_height = geometry.kind == GeometryKind::center_crop ? 0 : 32 + choices[1] % 8;
  geometry.log_ratio[0] = -0.2876820724517809;  // log(3 / 4)
  geometry.log_ratio[1] = 0.2876820724517809;
  geometry.flip_probability = 0.5;
  geometry.flip_first = (choices[1] & 16) != 0;
  geometry.apply_exif = (choices[1] & 32) != 0;
  geometry.dct_scaling = (choices[1] & 64) != 0;
  geometry.limits = small_limits();
  return geometry;
}

}  // namespace headrace
