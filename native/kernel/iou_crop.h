// RandomIoUCrop of torchvision: a crop that overlaps a box enough. Twin of headrace.recipes.iou_crop_reference.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/draws.h"

namespace headrace {

struct IouCropRules {
  double scale[2];                  // shares of each edge of the image
  double ratio[2];                  // width / height of the crop
  std::span<const double> options;  // least overlaps, one is drawn; 1 and more: leave the image as it is
  int64_t trials;                   // tries before another option is drawn
  uint32_t op;
};

template <typename Number>
struct Corners {
  Number left, top, right, bottom;
};

enum class Cut : uint8_t {
  not_found,  // kMostNumbers random numbers, or kMostLooks at boxes, gave no crop
  as_it_is,
  cropped,
};

struct IouCrop {
  Cut cut;
  Window window;  // the whole image where it is not cropped
};

// torchvision never gives up; an image whose boxes cannot be met would keep it for ever.
constexpr uint32_t kMostNumbers = 1u << 22;

// Boxes that crops are compared with. Labels may come from strangers: with a million boxes none of which can be met,
// all the numbers would take minutes.
constexpr size_t kMostLooks = size_t{1} << 28;

// Draws an option, then tries of (width, height) and, where these are allowed, (left, top): each number is the next one
// of the op, in the order in which torchvision draws them. There must be an option. Boxes are compared as torch
// compares tensors of `Number`.
template <typename Number>
IouCrop draw_iou_crop(const Stream& stream, const IouCropRules& rules, Size image,
                      std::span<const Corners<Number>> boxes);

extern template IouCrop draw_iou_crop(const Stream&, const IouCropRules&, Size, std::span<const Corners<float>>);
extern template IouCrop draw_iou_crop(const Stream&, const IouCropRules&, Size, std::span<const Corners<double>>);

}  // namespace headrace
