// Nearest-neighbour resize: another algorithm than the filters, with coordinates of its own.
#pragma once
#include "resample/resample.h"

namespace headrace {

// The input pixels that make `size` output pixels from `begin` on.
Span nearest_span(int in_size, int out_size, int begin, int size);

// As resize() with Filter::nearest.
void resize_nearest(const Pixels& src, Window region, int in_width, int in_height, int out_width, int out_height,
                    Window out, Scratch& scratch, uint8_t* dst, ptrdiff_t dst_stride);

}  // namespace headrace
