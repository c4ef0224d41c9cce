#include "resample/layout.h"

#include <cassert>
#include <cstring>

namespace headrace {
namespace {

// Maps a row. `step`: elements between neighbours of one channel; `planes`: where the row of each channel begins.
template <typename Element, int BytesPerPixel>
void map_row(const uint8_t* row, int width, bool flip, const Element* lut, ptrdiff_t step, Element* const planes[3]) {
  const ptrdiff_t stride = flip ? -BytesPerPixel : BytesPerPixel;
  const uint8_t* pixel = flip ? row + static_cast<ptrdiff_t>(width - 1) * BytesPerPixel : row;
  Element *red = planes[0], *green = planes[1], *blue = planes[2];
  for (ptrdiff_t x = 0; x < width; ++x) {
    red[x * step] = lut[pixel[x * stride]];
    green[x * step] = lut[256 + pixel[x * stride + 1]];
    blue[x * step] = lut[512 + pixel[x * stride + 2]];
  }
}

template <typename Element>
void map_rows(const Pixels& src, int width, int height, bool flip, bool channels_last, const void* lut, void* out) {
  const ptrdiff_t size = static_cast<ptrdiff_t>(width) * height;
  const ptrdiff_t step = channels_last ? 3 : 1, plane = channels_last ? 1 : size;
  const auto map = src.bytes_per_pixel == 4 ? map_row<Element, 4> : map_row<Element, 3>;
  for (int y = 0; y < height; ++y) {
    Element* row = static_cast<Element*>(out) + y * width * step;
    Element* const planes[3] = {row, row + plane, row + 2 * plane};
    map(src.data + y * src.stride, width, flip, static_cast<const Element*>(lut), step, planes);
  }
}

// RGB pixels, for which there is no SIMD: they come from Pillow only, already slow.
void move_rgb_row(const uint8_t* row, int width, bool flip, ptrdiff_t step, uint8_t* const planes[3]) {
  for (ptrdiff_t x = 0; x < width; ++x) {
    const uint8_t* pixel = row + 3 * (flip ? width - 1 - x : x);
    for (int channel = 0; channel < 3; ++channel) planes[channel][x * step] = pixel[channel];
  }
}

void move_rgb(const Pixels& src, int width, int height, bool flip, bool channels_last, uint8_t* out) {
  const ptrdiff_t size = static_cast<ptrdiff_t>(width) * height;
  const ptrdiff_t step = channels_last ? 3 : 1, plane = channels_last ? 1 : size;
  for (int y = 0; y < height; ++y) {
    uint8_t* row = out + y * width * step;
    uint8_t* const planes[3] = {row, row + plane, row + 2 * plane};
    if (channels_last && !flip) {
      std::memcpy(row, src.data + y * src.stride, static_cast<size_t>(width) * 3);
    } else {
      move_rgb_row(src.data + y * src.stride, width, flip, step, planes);
    }
  }
}

void move_rgbx(const Pixels& src, int width, int height, bool flip, bool channels_last, uint8_t* out,
               const SimdPath& path) {
  const ptrdiff_t size = static_cast<ptrdiff_t>(width) * height;
  for (int y = 0; y < height; ++y) {
    const uint8_t* row = src.data + y * src.stride;
    if (channels_last) {
      path.pack(row, width, flip, out + static_cast<ptrdiff_t>(y) * width * 3);
    } else {
      uint8_t* red = out + static_cast<ptrdiff_t>(y) * width;
      path.split(row, width, flip, red, red + size, red + 2 * size);
    }
  }
}

}  // namespace

void lay_out(const Pixels& src, int width, int height, bool flip, bool channels_last, int element_size, const void* lut,
             void* out, const SimdPath& path) {
  assert(lut != nullptr || element_size == 1);
  if (lut == nullptr && src.bytes_per_pixel == 4) {
    move_rgbx(src, width, height, flip, channels_last, static_cast<uint8_t*>(out), path);
  } else if (lut == nullptr) {
    move_rgb(src, width, height, flip, channels_last, static_cast<uint8_t*>(out));
  } else if (element_size == 1) {
    map_rows<uint8_t>(src, width, height, flip, channels_last, lut, out);
  } else if (element_size == 2) {
    map_rows<uint16_t>(src, width, height, flip, channels_last, lut, out);
  } else {
    map_rows<uint32_t>(src, width, height, flip, channels_last, lut, out);
  }
}

}  // namespace headrace
