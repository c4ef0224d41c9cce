// EXIF orientation of rectangles and pixels: what PIL.ImageOps.exif_transpose does to them.
#pragma once
#include "kernel/draws.h"

namespace headrace {

// The size of an upright image of this orientation (1 to 8) that is stored with `stored` pixels.
Size upright_size(Size stored, int orientation);

// Where a rectangle of the upright image lies in the stored one.
Window stored_window(Window upright, Size stored, int orientation);

// Copies the pixels of a rectangle upright, packed, with as many bytes a pixel. `upright` is its size when upright.
void copy_upright(const Pixels& stored, Size upright, int orientation, uint8_t* out);

}  // namespace headrace
