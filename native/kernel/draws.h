// Boxes of crops, drawn or computed as torchvision does. Twin of headrace.recipes.draws.
#pragma once
#include "kernel/geometry.h"
#include "random/philox.h"

namespace headrace {

struct Size {
  int height, width;
};

// RandomResizedCrop: up to ten tries of (area, aspect ratio, top, left), each taking four uniform numbers; then the
// largest centred box of the nearest allowed ratio.
Window draw_random_resized_crop(const Stream& stream, const Geometry& geometry, Size image);

// RandomCrop of a box that fits into the image.
Window draw_random_crop(const Stream& stream, uint32_t op, Size crop, Size image);

bool draw_flip(const Stream& stream, const Geometry& geometry);

// CenterCrop of a box that fits into the image: halves are rounded to even.
Window center_box(Size crop, Size image);

// What Resize makes of an image. Edges stay within 2^31 for images up to 65535 x 65535 and sizes up to 2^15.
Size resized_size(const Geometry& geometry, Size image);

}  // namespace headrace
