// From the size of an image and its random numbers to rectangles: pure arithmetic.
#pragma once
#include <cstdint>
#include <vector>

#include "jpeg/outcome.h"
#include "kernel/draws.h"
#include "kernel/geometry.h"

namespace headrace {

// Crop, resize what is left to `resized`, keep the window `out` of that, mirror; or mirror the crop and then resize it.
struct Plan {
  Window crop;
  Size resized;
  Window out;
  bool flip;
  bool flip_first;

  bool resizes() const { return crop.width != resized.width || crop.height != resized.height; }
  // Without a resize it is all the same.
  bool flips_source() const { return flip && flip_first && resizes(); }
};

// What a caller says of one row instead of leaving it to the draws.
struct Given {
  const int32_t* box = nullptr;  // top, left, height, width
  const uint8_t* flip = nullptr;
};

// Makes the plan for an image, upright. Not OK where the geometry would need padding, or more pixels than the limit.
Outcome make_plan(const Geometry& geometry, Size image, uint64_t key, const Given& given, Plan& plan);

// The box that was cropped, in coordinates of what it was cropped from.
Window reported_box(const Geometry& geometry, const Plan& plan);

// The largest of 8, 4, 2, 1 by which an image can be decoded smaller so that the crop is still no smaller than its
// resize.
int decode_scale(const Plan& plan);

// The plan on an image decoded at 1/scale, of which `image` is the size: borders of the crop go to the nearest pixel.
Plan scaled_plan(const Plan& plan, int scale, Size image);

// The smallest window around all of these.
Window around(const std::vector<Window>& windows);

// Whether one decoding of all that several windows of an image need costs no more than one decoding of each.
bool decode_together(const std::vector<Window>& windows, Size image, bool progressive);

}  // namespace headrace
