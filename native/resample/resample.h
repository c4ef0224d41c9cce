// Image.resize of Pillow 13, bit for bit, in one thread, without allocating once its buffers have grown.
#pragma once
#include <cstddef>
#include <cstdint>

#include "resample/scratch.h"
#include "resample/taps.h"

namespace headrace {

// A rectangle of pixels.
struct Window {
  int left, top, width, height;
};

// Pixels in memory: rows of RGB (3 bytes a pixel) or RGBX (4 bytes, the fourth ignored). `stride` is the number of
// bytes from one row to the next, at least width * bytes_per_pixel.
struct Pixels {
  const uint8_t* data;
  ptrdiff_t stride;
  int bytes_per_pixel;
};

// The part of an in_width x in_height image that is read to compute `out`, a window of its resize to
// out_width x out_height. Nothing outside it changes the result.
Window source_window(int in_width, int in_height, int out_width, int out_height, Window out, Filter filter);

// Computes the window `out` of the resize of an in_width x in_height image to out_width x out_height, as RGBX pixels
// (X is not defined), `dst_stride` bytes from row to row.
///
// `src.data` is the pixel at (region.left, region.top) of the image; `region` must hold source_window(...). No byte
// outside the region and the gaps between its rows is read. Equal to Image.resize of the whole image, then cropped.
void resize(const Pixels& src, Window region, int in_width, int in_height, int out_width, int out_height, Window out,
            Filter filter, Scratch& scratch, uint8_t* dst, ptrdiff_t dst_stride);

}  // namespace headrace
