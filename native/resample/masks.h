// Masks of one channel: cropped, resized by nearest neighbour as torch does it, mirrored.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "resample/resample.h"

namespace headrace {

// One mask of `width` elements a row, without gaps, and where it goes: `crop` of it is resized to `resized_width` x
// `resized_height`, `window` of that is kept, mirrored if `flip`; with `flip_first` the crop is what is mirrored.
struct MaskMove {
  const uint8_t* data;
  int width;
  Window crop;
  int resized_width, resized_height;
  Window window;
  bool flip, flip_first;
};

// A move from numbers that nobody has looked at: (height, width) of the mask, (top, left, height, width) of the crop,
// (height, width) after the resize, (top, left, height, width) of what is kept; `data` and the flips are left to
// the caller. Nothing where a box is empty or leaves what it is cut from, or where an edge is over 2^30.
std::optional<MaskMove> checked_move(const int64_t* size, const int64_t* crop, const int64_t* resized,
                                     const int64_t* window);

// Writes the window, without gaps, to `dst`. `element_size` is 1, 2, 4 or 8; `columns` is scratch.
// The mask may lie at any address: it is a part of somebody's file.
void move_mask(const MaskMove& move, int element_size, std::vector<int32_t>& columns, uint8_t* dst);

}  // namespace headrace
