// Arguments of the kernel's functions, from Python's to C++'s; what is not accepted is a ValueError.
#pragma once
#include <variant>

#include "bind/arrays.h"
#include "io/cached_ranges.h"
#include "kernel/batch.h"

namespace headrace {

// Names as in the signature that Python sees.
struct GeometryArguments {
  std::string kind;
  int height, width, filter;
  std::pair<double, double> scale, ratio, log_ratio;
  int resize_height, resize_width, max_size;
  int64_t crop_op;
  double flip_probability;
  int64_t flip_op;
  bool flip_first;
  bool apply_exif, dct_scaling;
  int64_t max_pixels;
  int max_scans;
  int64_t max_decoder_bytes;
};

Geometry checked_geometry(const GeometryArguments& arguments);

DecodeLimits checked_limits(int64_t max_pixels, int max_scans, int64_t max_decoder_bytes);

// Where encoded bytes come from: addresses in memory, or the page cache.
using Encoded = std::variant<InputArray, io::CachedRanges*>;

JpegInputs checked_jpegs(const Encoded& addresses, const InputArray& sizes);

PixelInputs checked_pixels(const InputArray& addresses, const InputArray& heights, const InputArray& widths,
                           const InputArray& strides);

RowInputs checked_rows(const Geometry& geometry, size_t count, const InputArray& keys,
                       const std::optional<InputArray>& boxes, const std::optional<InputArray>& flips);

Destination checked_destination(const Geometry& geometry, size_t count, const OutputArray& out,
                                const std::optional<InputArray>& rows, const std::optional<InputArray>& lut,
                                bool channels_last);

}  // namespace headrace
