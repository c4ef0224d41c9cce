#include "kernel/plan.h"

#include <algorithm>
#include <string>

namespace headrace {
namespace {

std::string text(Size size) { return std::to_string(size.height) + " x " + std::to_string(size.width); }

Outcome unsupported(std::string message) { return {.status = Status::unsupported, .message = std::move(message)}; }

Window whole(Size size) { return {.left = 0, .top = 0, .width = size.width, .height = size.height}; }

bool crops_first(GeometryKind kind) { return kind == GeometryKind::random_resized_crop || kind == GeometryKind::boxes; }

bool crops_at_random(GeometryKind kind) {
  return kind == GeometryKind::random_crop || kind == GeometryKind::resize_random_crop;
}

Window window_of(const int32_t* box) { return {.left = box[1], .top = box[0], .width = box[3], .height = box[2]}; }

Outcome check_inside(const Window& box, Size image) {
  const bool inside = box.left >= 0 && box.top >= 0 && int64_t{box.left} + box.width <= image.width &&
                      int64_t{box.top} + box.height <= image.height;
  if (inside) return {};
  return unsupported("the box (top " + std::to_string(box.top) + ", left " + std::to_string(box.left) + ", " +
                     text({box.height, box.width}) + ") reaches outside the " + text(image) + " image");
}

// Random resized crop, or a given box: the crop comes before the resize.
Outcome plan_crop_first(const Geometry& geometry, Size image, const Stream& stream, const Given& given, Plan& plan) {
  plan.crop = given.box != nullptr ? window_of(given.box) : draw_random_resized_crop(stream, geometry, image);
  plan.resized = geometry.height != 0 ? Size{geometry.height, geometry.width} : Size{plan.crop.height, plan.crop.width};
  plan.out = whole(plan.resized);
  return check_inside(plan.crop, image);
}

// The rest: resize (if any) comes before the crop (if any).
Outcome plan_resize_first(const Geometry& geometry, Size image, const Stream& stream, const Given& given, Plan& plan) {
  plan.crop = whole(image);
  const bool full = geometry.kind == GeometryKind::full;
  const Size target = {geometry.height, geometry.width};
  plan.resized = resized_size(geometry, image);
  if (full && target.height != 0) plan.resized = target;
  if (plan.resized.height < 1 || plan.resized.width < 1) {
    return unsupported("a " + text(image) + " image would have no pixel left at " + text(plan.resized));
  }
  plan.out = whole(plan.resized);
  if (full || target.height == 0) return {};
  if (given.box != nullptr) {
    plan.out = window_of(given.box);
    return check_inside(plan.out, plan.resized);
  }
  if (target.height > plan.resized.height || target.width > plan.resized.width) {
    return unsupported("a crop of " + text(target) + " from " + text(plan.resized) + " pixels needs padding");
  }
  plan.out = crops_at_random(geometry.kind) ? draw_random_crop(stream, geometry.crop_op, target, plan.resized)
                                            : center_box(target, plan.resized);
  return {};
}

}  // namespace

Outcome make_plan(const Geometry& geometry, Size image, uint64_t key, const Given& given, Plan& plan) {
  const Stream stream(key);
  plan.flip = given.flip != nullptr ? *given.flip != 0 : draw_flip(stream, geometry);
  plan.flip_first = geometry.flip_first;
  Outcome outcome = crops_first(geometry.kind) ? plan_crop_first(geometry, image, stream, given, plan)
                                               : plan_resize_first(geometry, image, stream, given, plan);
  if (!outcome.ok()) return outcome;
  if (int64_t{plan.resized.height} * plan.resized.width > geometry.limits.pixels) {
    return {.status = Status::over_limit,
            .message = "a resize to " + text(plan.resized) + " pixels, the `pixels` limit is " +
                       std::to_string(geometry.limits.pixels)};
  }
  return outcome;
}

Window reported_box(const Geometry& geometry, const Plan& plan) {
  return crops_first(geometry.kind) ? plan.crop : plan.out;
}

int decode_scale(const Plan& plan) {
  for (const int scale : {8, 4, 2}) {
    if (plan.crop.width >= int64_t{scale} * plan.resized.width &&
        plan.crop.height >= int64_t{scale} * plan.resized.height) {
      return scale;
    }
  }
  return 1;
}

namespace {

struct Interval {
  int begin, size;
};

Interval scaled_interval(int begin, int size, int scale, int scaled_length) {
  const int first = std::min((begin + scale / 2) / scale, scaled_length - 1);
  const int end = std::clamp((begin + size + scale / 2) / scale, first + 1, scaled_length);
  return {first, end - first};
}

}  // namespace

Plan scaled_plan(const Plan& plan, int scale, Size image) {
  Plan scaled = plan;
  const Size size = {(image.height + scale - 1) / scale, (image.width + scale - 1) / scale};
  const Interval rows = scaled_interval(plan.crop.top, plan.crop.height, scale, size.height);
  const Interval columns = scaled_interval(plan.crop.left, plan.crop.width, scale, size.width);
  scaled.crop = {.left = columns.begin, .top = rows.begin, .width = columns.size, .height = rows.size};
  if (plan.crop.height == image.height) scaled.crop.height = size.height;
  if (plan.crop.width == image.width) scaled.crop.width = size.width;
  return scaled;
}

Window around(const std::vector<Window>& windows) {
  int left = windows[0].left, top = windows[0].top, right = left, bottom = top;
  for (const Window& window : windows) {
    left = std::min(left, window.left);
    top = std::min(top, window.top);
    right = std::max(right, window.left + window.width);
    bottom = std::max(bottom, window.top + window.height);
  }
  return {.left = left, .top = top, .width = right - left, .height = bottom - top};
}

namespace {

// In thousandths of a pixel that is decoded: code words outside of the window are walked through, down to its last row;
// those of a progressive image are decoded everywhere.
int64_t decode_cost(const Window& window, Size image, bool progressive) {
  constexpr int64_t kDecoded = 1000, kWalked = 400;
  const int64_t rows = progressive ? int64_t{2} * image.height : int64_t{window.top} + window.height;
  return kDecoded * window.width * window.height + kWalked * rows * image.width;
}

}  // namespace

bool decode_together(const std::vector<Window>& windows, Size image, bool progressive) {
  int64_t apart = 0;
  for (const Window& window : windows) apart += decode_cost(window, image, progressive);
  return decode_cost(around(windows), image, progressive) <= apart;
}

}  // namespace headrace
