// Masks of one channel: cropped, resized by nearest neighbour as torch does it, mirrored.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "resample/resample.h"

namespace headrace {

// One mask of `width` elements a row, without gaps, and where it goes: `crop` of it is resized to `resized_width` x
// `resized_height`, `window` of that is kept, mirrored if `flip`.
struct MaskMove {
  const uint8_t* data;
  int width;
  Window crop;
  int resized_width, resized_height;
  Window window;
  bool flip;
};

// Writes the window, without gaps, to `dst`. `element_size` is 1, 2, 4 or 8; `columns` is scratch.
void move_mask(const MaskMove& move, int element_size, std::vector<int32_t>& columns, uint8_t* dst);

}  // namespace headrace
