// Masks of a batch, moved in one call.
#include "resample/masks.h"

#include <string>
#include <vector>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "bind/gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headrace {
namespace {

int checked_element_size(const OutputArray& out) {
  const int size = out.dtype().bits * out.dtype().lanes / 8;
  if (size != 1 && size != 2 && size != 4 && size != 8) refuse("out must have elements of 1, 2, 4 or 8 bytes");
  if (out.ndim() != 3 || !is_c_contiguous(out)) {
    refuse("out must be a C-contiguous array of shape (masks, height, width), got shape " + shape_text(out));
  }
  return size;
}

void python_move_masks(const InputArray& addresses, const InputArray& sizes, const InputArray& crops,
                       const InputArray& resized, const InputArray& windows, const InputArray& flips,
                       const OutputArray& out, bool flip_first) {
  const int element_size = checked_element_size(out);
  const size_t count = out.shape(0);
  const auto* data = elements<uint64_t>(addresses, "addresses", "uint64", count);
  const auto* size = elements<int64_t>(sizes, "sizes", "int64", count, 2);
  const auto* crop = elements<int64_t>(crops, "crops", "int64", count, 4);
  const auto* target = elements<int64_t>(resized, "resized", "int64", count, 2);
  const auto* window = elements<int64_t>(windows, "windows", "int64", count, 4);
  const auto* flip = elements<uint8_t>(flips, "flips", "uint8", count);
  std::vector<MaskMove> moves;
  moves.reserve(count);
  for (size_t i = 0; i < count; ++i, size += 2, crop += 4, target += 2, window += 4) {
    auto move = checked_move(size, crop, target, window);
    if (!move) {
      refuse("crops and windows must be (top, left, height, width) inside of what they are cut from: see mask " +
             std::to_string(i));
    }
    if (static_cast<size_t>(move->window.height) != out.shape(1) ||
        static_cast<size_t>(move->window.width) != out.shape(2)) {
      refuse("each window must have the size of a mask of out, got shape " + shape_text(out));
    }
    move->data = reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(data[i]));
    move->flip = flip[i] != 0;
    move->flip_first = flip_first;
    moves.push_back(*move);
  }
  auto* dst = static_cast<uint8_t*>(out.data());
  const size_t mask_bytes = out.shape(1) * out.shape(2) * static_cast<size_t>(element_size);
  const GilReleased released;
  std::vector<int32_t> columns;
  for (const MaskMove& move : moves) {
    move_mask(move, element_size, columns, dst);
    dst += mask_bytes;
  }
}

}  // namespace

void bind_masks(nb::module_& module) {
  module.def("move_masks", &python_move_masks, "addresses"_a, "sizes"_a, "crops"_a, "resized"_a, "windows"_a, "flips"_a,
             "out"_a, "flip_first"_a = false);
}

}  // namespace headrace
