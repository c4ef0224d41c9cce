#include "kernel/iou_crop.h"

#include <algorithm>

namespace headrace {
namespace {

// The numbers of one op, one after another.
class Numbers {
 public:
  Numbers(const Stream& stream, uint32_t op) : stream_(stream), op_(op) {}

  bool left(uint32_t count) const { return next_ + count <= kMostNumbers; }
  double next() { return stream_.uniform(op_, next_++); }
  double between(const double (&range)[2]) { return range[0] + next() * (range[1] - range[0]); }
  int share_of(int length) { return static_cast<int>(next() * length); }

 private:
  const Stream& stream_;
  uint32_t op_;
  uint32_t next_ = 0;
};

template <typename Number>
Corners<Number> corners_of(const Window& window) {
  return {static_cast<Number>(window.left), static_cast<Number>(window.top),
          static_cast<Number>(window.left + window.width), static_cast<Number>(window.top + window.height)};
}

template <typename Number>
bool holds_center(const Corners<Number>& crop, const Corners<Number>& box) {
  const Number half = 0.5;
  const Number x = half * (box.left + box.right), y = half * (box.top + box.bottom);
  return crop.left < x && x < crop.right && crop.top < y && y < crop.bottom;
}

template <typename Number>
Number area_of(const Corners<Number>& box) {
  return (box.right - box.left) * (box.bottom - box.top);
}

// Intersection over union as `torchvision.ops.box_iou` computes it; of inverted boxes it may be anything.
template <typename Number>
Number overlap(const Corners<Number>& box, const Corners<Number>& crop) {
  const Number width = std::max(std::min(box.right, crop.right) - std::max(box.left, crop.left), Number{0});
  const Number height = std::max(std::min(box.bottom, crop.bottom) - std::max(box.top, crop.top), Number{0});
  const Number shared = width * height;
  return shared / (area_of(box) + area_of(crop) - shared);
}

// A crop of the image; false where torchvision would pass over it, or fail, since it is empty or too narrow.
bool try_window(Numbers& numbers, const IouCropRules& rules, Size image, Window& window) {
  window.width = static_cast<int>(image.width * numbers.between(rules.scale));
  window.height = static_cast<int>(image.height * numbers.between(rules.scale));
  if (window.width < 1 || window.height < 1) return false;
  const double ratio = static_cast<double>(window.width) / window.height;
  if (!(rules.ratio[0] <= ratio && ratio <= rules.ratio[1])) return false;
  window.left = numbers.share_of(image.width - window.width);
  window.top = numbers.share_of(image.height - window.height);
  return true;
}

template <typename Number>
bool overlaps_enough(const Window& window, double least, std::span<const Corners<Number>> boxes) {
  const Corners<Number> crop = corners_of<Number>(window);
  // Not "at least": what is no number counts as enough, as in torch, where the maximum with it is no number.
  return std::any_of(boxes.begin(), boxes.end(), [&](const Corners<Number>& box) {
    return holds_center(crop, box) && !(overlap(box, crop) < static_cast<Number>(least));
  });
}

}  // namespace

template <typename Number>
IouCrop draw_iou_crop(const Stream& stream, const IouCropRules& rules, Size image,
                      std::span<const Corners<Number>> boxes) {
  constexpr uint32_t kMostOfATry = 4;
  const Window whole = {.left = 0, .top = 0, .width = image.width, .height = image.height};
  const int64_t trials = boxes.empty() ? 0 : rules.trials;  // without boxes none of them could succeed
  Numbers numbers(stream, rules.op);
  size_t looks_left = kMostLooks;
  while (numbers.left(1)) {
    const double least = rules.options[static_cast<size_t>(numbers.share_of(static_cast<int>(rules.options.size())))];
    if (least >= 1.0) return {.cut = Cut::as_it_is, .window = whole};
    for (int64_t trial = 0; trial < trials; ++trial) {
      if (!numbers.left(kMostOfATry)) return {.cut = Cut::not_found, .window = whole};
      Window window = whole;
      if (!try_window(numbers, rules, image, window)) continue;
      if (looks_left < boxes.size()) return {.cut = Cut::not_found, .window = whole};
      looks_left -= boxes.size();
      if (overlaps_enough(window, least, boxes)) return {.cut = Cut::cropped, .window = window};
    }
  }
  return {.cut = Cut::not_found, .window = whole};
}

template IouCrop draw_iou_crop(const Stream&, const IouCropRules&, Size, std::span<const Corners<float>>);
template IouCrop draw_iou_crop(const Stream&, const IouCropRules&, Size, std::span<const Corners<double>>);

}  // namespace headrace
