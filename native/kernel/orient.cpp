#include "kernel/orient.h"

#include <cstring>
#include <utility>

namespace headrace {
namespace {

// An orientation as up to three steps from the upright image to the stored one (Exif 2.32, section 4.6.4, tag 0x0112).
struct Steps {
  bool transpose, mirror_columns, mirror_rows;
};

Steps steps_of(int orientation) {
  switch (orientation) {
    case 2:
      return {false, true, false};
    case 3:
      return {false, true, true};
    case 4:
      return {false, false, true};
    case 5:
      return {true, false, false};
    case 6:
      return {true, false, true};
    case 7:
      return {true, true, true};
    case 8:
      return {true, true, false};
    default:
      return {false, false, false};
  }
}

template <size_t Bytes>
void copy_steps(const uint8_t* first, ptrdiff_t across, ptrdiff_t down, Size size, uint8_t* out) {
  for (int y = 0; y < size.height; ++y) {
    const uint8_t* pixel = first + y * down;
    for (int x = 0; x < size.width; ++x, pixel += across, out += Bytes) std::memcpy(out, pixel, Bytes);
  }
}

}  // namespace

Size upright_size(Size stored, int orientation) {
  return steps_of(orientation).transpose ? Size{stored.width, stored.height} : stored;
}

Window stored_window(Window upright, Size stored, int orientation) {
  const Steps steps = steps_of(orientation);
  Window window = upright;
  if (steps.transpose) {
    window = {.left = upright.top, .top = upright.left, .width = upright.height, .height = upright.width};
  }
  if (steps.mirror_columns) window.left = stored.width - window.left - window.width;
  if (steps.mirror_rows) window.top = stored.height - window.top - window.height;
  return window;
}

void copy_upright(const Pixels& stored, Size upright, int orientation, uint8_t* out) {
  const Steps steps = steps_of(orientation);
  const Size size = upright_size(upright, orientation);  // transposing twice changes nothing
  const uint8_t* first = stored.data;
  ptrdiff_t across = stored.bytes_per_pixel, down = stored.stride;
  if (steps.mirror_columns) first += (size.width - 1) * across, across = -across;
  if (steps.mirror_rows) first += (size.height - 1) * down, down = -down;
  if (steps.transpose) std::swap(across, down);
  if (stored.bytes_per_pixel == 4) {
    copy_steps<4>(first, across, down, upright, out);
  } else {
    copy_steps<3>(first, across, down, upright, out);
  }
}

}  // namespace headrace
