// RandomIoUCrop of a batch, decided in one call from sizes and boxes.
#include "kernel/iou_crop.h"

#include <nanobind/stl/pair.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "bind/columns.h"
#include "bind/gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headrace {
namespace {

constexpr int64_t kLongestEdge = 1 << 24;

// No edge of a crop leaves what an int holds.
void check_scale(const std::pair<double, double>& scale) {
  constexpr double kLargest = 16.0;
  if (std::abs(scale.first) <= kLargest && std::abs(scale.second) <= kLargest) return;
  refuse("scale must lie within -16..16, got (" + std::to_string(scale.first) + ", " + std::to_string(scale.second) +
         ")");
}

// Where the boxes of each row begin, and where the last one's end.
const int64_t* checked_starts(const InputArray& starts, size_t num_rows, size_t num_boxes) {
  const auto* first = elements<int64_t>(starts, "starts", "int64", num_rows + 1);
  bool rising = first[0] == 0 && first[num_rows] == static_cast<int64_t>(num_boxes);
  for (size_t row = 0; row < num_rows; ++row) rising = rising && first[row] <= first[row + 1];
  if (!rising) refuse("starts must rise from 0 to the number of boxes, " + std::to_string(num_boxes));
  return first;
}

const int64_t* checked_sizes(const InputArray& sizes, size_t num_rows) {
  const auto* edges = elements<int64_t>(sizes, "sizes", "int64", num_rows, 2);
  for (size_t i = 0; i < 2 * num_rows; ++i) {
    if (edges[i] < 1 || edges[i] > kLongestEdge) {
      refuse("edges of sizes must lie in 1.." + std::to_string(kLongestEdge) + ", got " + std::to_string(edges[i]));
    }
  }
  return edges;
}

struct Decisions {
  std::vector<int32_t> windows;
  std::vector<uint8_t> cuts;
};

template <typename Number>
Decisions decide(const IouCropRules& rules, const uint64_t* keys, size_t num_rows, const int64_t* sizes,
                 const InputArray& corners, const int64_t* starts) {
  static_assert(sizeof(Corners<Number>) == 4 * sizeof(Number));
  const auto* boxes = static_cast<const Corners<Number>*>(corners.data());
  Decisions made;
  made.windows.reserve(4 * num_rows);
  made.cuts.reserve(num_rows);
  const GilReleased released;
  for (size_t row = 0; row < num_rows; ++row) {
    const Size image = {static_cast<int>(sizes[2 * row]), static_cast<int>(sizes[2 * row + 1])};
    const std::span<const Corners<Number>> own(boxes + starts[row], boxes + starts[row + 1]);
    const IouCrop crop = draw_iou_crop(Stream(keys[row]), rules, image, own);
    made.windows.insert(made.windows.end(), {crop.window.top, crop.window.left, crop.window.height, crop.window.width});
    made.cuts.push_back(static_cast<uint8_t>(crop.cut));
  }
  return made;
}

nb::tuple python_iou_crops(const InputArray& keys, const InputArray& sizes, const InputArray& corners,
                           const InputArray& starts, const InputArray& options, const std::pair<double, double>& scale,
                           const std::pair<double, double>& ratio, int64_t trials, int64_t op) {
  if (keys.ndim() != 1) refuse("keys must have one dimension, got shape " + shape_text(keys));
  const size_t num_rows = keys.shape(0);
  const auto* checked_keys = elements<uint64_t>(keys, "keys", "uint64", num_rows);
  const auto* edges = checked_sizes(sizes, num_rows);
  const bool single = corners.dtype() == nb::dtype<float>();
  if (corners.ndim() != 2 || corners.shape(1) != 4 || !is_c_contiguous(corners) ||
      (!single && corners.dtype() != nb::dtype<double>())) {
    refuse("corners must be a C-contiguous array of float32 or float64 of shape (boxes, 4), got shape " +
           shape_text(corners));
  }
  const auto* first = checked_starts(starts, num_rows, corners.shape(0));
  const size_t num_options = options.ndim() == 1 ? options.shape(0) : 0;
  if (num_options == 0) refuse("options must have one dimension and an element, got shape " + shape_text(options));
  if (op < 0 || op > std::numeric_limits<uint32_t>::max()) refuse("op must fit into 32 bits");
  check_scale(scale);
  const auto* least = elements<double>(options, "options", "float64", num_options);
  const IouCropRules rules = {.scale = {scale.first, scale.second},
                              .ratio = {ratio.first, ratio.second},
                              .options = {least, num_options},
                              .trials = trials,
                              .op = static_cast<uint32_t>(op)};
  Decisions made = single ? decide<float>(rules, checked_keys, num_rows, edges, corners, first)
                          : decide<double>(rules, checked_keys, num_rows, edges, corners, first);
  return nb::make_tuple(to_numpy<int32_t, nb::ndim<2>>(std::move(made.windows), {num_rows, 4}),
                        to_numpy(std::move(made.cuts)));
}

}  // namespace

void bind_iou_crop(nb::module_& module) {
  module.def("iou_crops", &python_iou_crops, "keys"_a, "sizes"_a, "corners"_a, "starts"_a, "options"_a, "scale"_a,
             "ratio"_a, "trials"_a, "op"_a);
}

}  // namespace headrace
