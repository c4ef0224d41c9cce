#include "bind/kernel_arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nb = nanobind;

namespace headrace {
namespace {

constexpr int kMaxEdge = 1 << 15;

template <typename Number>
void check_range(const char* name, Number value, Number low, Number high) {
  if (value >= low && value <= high) return;
  refuse(std::string(name) + " must be between " + std::to_string(low) + " and " + std::to_string(high) + ", got " +
         std::to_string(value));
}

void check_interval(const char* name, const std::pair<double, double>& range, double low, double high) {
  if (std::isfinite(range.first) && std::isfinite(range.second) && low <= range.first && range.first <= range.second &&
      range.second <= high) {
    return;
  }
  refuse(std::string(name) + " must be (min, max) with " + std::to_string(low) + " <= min <= max <= " +
         std::to_string(high) + ", got (" + std::to_string(range.first) + ", " + std::to_string(range.second) + ")");
}

Filter checked_filter(int filter) {
  for (const Filter known : {Filter::nearest, Filter::bilinear, Filter::bicubic}) {
    if (filter == static_cast<int>(known)) return known;
  }
  refuse("filter must be 0 (nearest), 2 (bilinear) or 3 (bicubic), got " + std::to_string(filter));
}

GeometryKind checked_kind(const std::string& name) {
  if (const auto kind = geometry_kind(name)) return *kind;
  refuse(
      "kind must be full, random_resized_crop, resize_center_crop, resize_random_crop, center_crop, random_crop "
      "or boxes, got " +
      name);
}

void check_sizes(const GeometryArguments& arguments, GeometryKind kind) {
  check_range("height", arguments.height, 0, kMaxEdge);
  check_range("width", arguments.width, 0, kMaxEdge);
  if ((arguments.height == 0) != (arguments.width == 0)) refuse("height and width must both be 0 or neither");
  check_range("resize_height", arguments.resize_height, 0, kMaxEdge);
  check_range("resize_width", arguments.resize_width, 0, kMaxEdge);
  check_range("max_size", arguments.max_size, 0, kMaxEdge);
  const bool resizes = kind == GeometryKind::resize_center_crop || kind == GeometryKind::resize_random_crop;
  if (resizes != (arguments.resize_height != 0)) {
    refuse("resize_height must be given for resize_center_crop and resize_random_crop, and for nothing else");
  }
  if (!resizes && arguments.resize_width != 0) refuse("resize_width is only for a geometry that has resize_height");
  if (arguments.max_size != 0 && (arguments.resize_height == 0 || arguments.resize_width != 0)) {
    refuse("max_size is only for a resize of the shorter edge");
  }
  const bool may_be_open =
      kind == GeometryKind::full || kind == GeometryKind::boxes || kind == GeometryKind::resize_center_crop;
  if (arguments.height == 0 && !may_be_open) refuse("height and width must not be 0 for " + arguments.kind);
}

uint32_t checked_op(const char* name, int64_t op) {
  check_range<int64_t>(name, op, 0, std::numeric_limits<uint32_t>::max());
  return static_cast<uint32_t>(op);
}

size_t length_of(const InputArray& array, const char* name) {
  if (array.ndim() != 1) refuse(std::string(name) + " must have one dimension, got shape " + shape_text(array));
  if (array.shape(0) > std::numeric_limits<uint32_t>::max()) refuse(std::string(name) + " has too many elements");
  return array.shape(0);
}

// Null for image i to row i.
const int64_t* checked_row_numbers(const std::optional<InputArray>& rows, size_t count, size_t num_rows) {
  if (!rows) {
    if (count > num_rows)
      refuse("out has " + std::to_string(num_rows) + " rows for " + std::to_string(count) + " images");
    return nullptr;
  }
  const auto* numbers = elements<int64_t>(*rows, "rows", "int64", count);
  std::vector<bool> taken(num_rows);
  for (size_t i = 0; i < count; ++i) {
    if (numbers[i] < 0 || static_cast<size_t>(numbers[i]) >= num_rows) {
      refuse("rows must lie in 0.." + std::to_string(num_rows) + " (exclusive), got " + std::to_string(numbers[i]));
    }
    if (taken[static_cast<size_t>(numbers[i])]) refuse("row " + std::to_string(numbers[i]) + " is given twice");
    taken[static_cast<size_t>(numbers[i])] = true;
  }
  return numbers;
}

int element_size_of(const nb::dlpack::dtype& type) { return type.bits * type.lanes / 8; }

const void* checked_lut(const std::optional<InputArray>& lut, const OutputArray& out) {
  const int size = element_size_of(out.dtype());
  if (size != 1 && size != 2 && size != 4)
    refuse("out must have elements of 1, 2 or 4 bytes, got " + std::to_string(size));
  if (!lut) {
    if (out.dtype() != nb::dtype<uint8_t>()) refuse("out is not uint8: it needs a lut");
    return nullptr;
  }
  const bool fits = lut->ndim() == 2 && lut->shape(0) == 3 && lut->shape(1) == 256 && is_c_contiguous(*lut) &&
                    element_size_of(lut->dtype()) == size;
  if (!fits) {
    refuse("lut must be a C-contiguous array of shape (3, 256) with elements of " + std::to_string(size) +
           " bytes like out, got shape " + shape_text(*lut));
  }
  return lut->data();
}

}  // namespace

DecodeLimits checked_limits(int64_t max_pixels, int max_scans, int64_t max_decoder_bytes) {
  check_range<int64_t>("pixels", max_pixels, 1, int64_t{1} << 32);
  check_range("scans", max_scans, 1, 1 << 20);
  check_range<int64_t>("decoder_bytes", max_decoder_bytes, 1 << 20, int64_t{1} << 40);
  return {.pixels = max_pixels, .scans = max_scans, .decoder_bytes = max_decoder_bytes};
}

Geometry checked_geometry(const GeometryArguments& arguments) {
  constexpr double kLargest = 1e6, kLargestLog = 64.0;
  const GeometryKind kind = checked_kind(arguments.kind);
  check_sizes(arguments, kind);
  check_interval("scale", arguments.scale, 0.0, kLargest);
  check_interval("ratio", arguments.ratio, 1.0 / kLargest, kLargest);
  check_interval("log_ratio", arguments.log_ratio, -kLargestLog, kLargestLog);
  check_range("flip_probability", arguments.flip_probability, 0.0, 1.0);
  return {.kind = kind,
          .height = arguments.height,
          .width = arguments.width,
          .filter = checked_filter(arguments.filter),
          .scale = {arguments.scale.first, arguments.scale.second},
          .ratio = {arguments.ratio.first, arguments.ratio.second},
          .log_ratio = {arguments.log_ratio.first, arguments.log_ratio.second},
          .resize_height = arguments.resize_height,
          .resize_width = arguments.resize_width,
          .max_size = arguments.max_size,
          .crop_op = checked_op("crop_op", arguments.crop_op),
          .flip_probability = arguments.flip_probability,
          .flip_op = checked_op("flip_op", arguments.flip_op),
          .flip_first = arguments.flip_first,
          .apply_exif = arguments.apply_exif,
          .dct_scaling = arguments.dct_scaling,
          .limits = checked_limits(arguments.max_pixels, arguments.max_scans, arguments.max_decoder_bytes)};
}

JpegInputs checked_jpegs(const Encoded& encoded, const InputArray& sizes) {
  if (const auto* ranges = std::get_if<io::CachedRanges*>(&encoded)) {
    const size_t num_ranges = (*ranges)->count();
    static_cast<void>(elements<uint64_t>(sizes, "sizes", "uint64", num_ranges));
    return {.count = num_ranges, .addresses = nullptr, .sizes = (*ranges)->sizes().data(), .ranges = *ranges};
  }
  const auto& addresses = std::get<InputArray>(encoded);
  const size_t count = length_of(addresses, "addresses");
  const auto* first = elements<uint64_t>(addresses, "addresses", "uint64", count);
  const auto* bytes = elements<uint64_t>(sizes, "sizes", "uint64", count);
  for (size_t i = 0; i < count; ++i) {
    if (first[i] == 0 && bytes[i] != 0) refuse("address " + std::to_string(i) + " is 0 and its size is not");
    if (bytes[i] > std::numeric_limits<uint64_t>::max() - first[i])
      refuse("size " + std::to_string(i) + " is too large");
  }
  return {.count = count, .addresses = first, .sizes = bytes};
}

PixelInputs checked_pixels(const InputArray& addresses, const InputArray& heights, const InputArray& widths,
                           const InputArray& strides) {
  const size_t count = length_of(addresses, "addresses");
  const PixelInputs pixels = {.count = count,
                              .addresses = elements<uint64_t>(addresses, "addresses", "uint64", count),
                              .heights = elements<int32_t>(heights, "heights", "int32", count),
                              .widths = elements<int32_t>(widths, "widths", "int32", count),
                              .strides = elements<int64_t>(strides, "strides", "int64", count)};
  constexpr int kMaxPixelEdge = 1 << 24;
  for (size_t i = 0; i < count; ++i) {
    check_range("heights", pixels.heights[i], 1, kMaxPixelEdge);
    check_range("widths", pixels.widths[i], 1, kMaxPixelEdge);
    check_range<int64_t>("strides", pixels.strides[i], int64_t{3} * pixels.widths[i], int64_t{1} << 40);
    if (pixels.addresses[i] == 0) refuse("address " + std::to_string(i) + " is 0");
  }
  return pixels;
}

RowInputs checked_rows(const Geometry& geometry, size_t count, const InputArray& keys,
                       const std::optional<InputArray>& boxes, const std::optional<InputArray>& flips) {
  const RowInputs inputs = {.keys = elements<uint64_t>(keys, "keys", "uint64", count),
                            .boxes = elements<int32_t>(boxes, "boxes", "int32", count, 4),
                            .flips = elements<uint8_t>(flips, "flips", "uint8", count)};
  if (inputs.boxes == nullptr) {
    if (geometry.kind == GeometryKind::boxes) refuse("boxes must be given for the geometry boxes");
    return inputs;
  }
  if (geometry.kind == GeometryKind::full) refuse("boxes are not for the geometry full");
  for (size_t i = 0; i < count; ++i) {
    check_range("height of a box", inputs.boxes[4 * i + 2], 1, std::numeric_limits<int32_t>::max());
    check_range("width of a box", inputs.boxes[4 * i + 3], 1, std::numeric_limits<int32_t>::max());
  }
  return inputs;
}

Destination checked_destination(const Geometry& geometry, size_t count, const OutputArray& out,
                                const std::optional<InputArray>& rows, const std::optional<InputArray>& lut,
                                bool channels_last) {
  const bool has_shape = out.ndim() == 4 && out.shape(channels_last ? 3 : 1) == 3 && is_c_contiguous(out);
  if (!has_shape) {
    refuse(std::string("out must be C-contiguous of shape ") + (channels_last ? "(B, H, W, 3)" : "(B, 3, H, W)") +
           ", got shape " + shape_text(out));
  }
  const size_t height = out.shape(channels_last ? 1 : 2), width = out.shape(channels_last ? 2 : 3);
  const size_t most = static_cast<size_t>(std::numeric_limits<int32_t>::max());
  if (height < 1 || width < 1 || height > most / width) refuse("out has impossible rows: shape " + shape_text(out));
  const bool fixed = geometry.height != 0;
  if (fixed && (height != static_cast<size_t>(geometry.height) || width != static_cast<size_t>(geometry.width))) {
    refuse("out has rows of " + std::to_string(height) + " x " + std::to_string(width) + ", the geometry makes " +
           std::to_string(geometry.height) + " x " + std::to_string(geometry.width));
  }
  return {.data = static_cast<uint8_t*>(out.data()),
          .height = static_cast<int>(height),
          .width = static_cast<int>(width),
          .channels_last = channels_last,
          .element_size = element_size_of(out.dtype()),
          .lut = checked_lut(lut, out),
          .rows = checked_row_numbers(rows, count, out.shape(0))};
}

}  // namespace headrace
