#include "kernel/finish.h"

#include <cstring>
#include <string>

#include "kernel/orient.h"
#include "resample/layout.h"

namespace headrace {
namespace {

size_t row_bytes(const Destination& destination) {
  return size_t{3} * static_cast<size_t>(destination.height) * static_cast<size_t>(destination.width) *
         static_cast<size_t>(destination.element_size);
}

uint8_t* row_of(const Destination& destination, size_t index) {
  const size_t row = destination.rows == nullptr ? index : static_cast<size_t>(destination.rows[index]);
  return destination.data + row_bytes(destination) * row;
}

// The needed part, in coordinates of the cropped image, mirrored where that comes first.
Window source_of(const Plan& plan, Filter filter) {
  if (!plan.resizes()) return plan.out;
  return source_window(plan.crop.width, plan.crop.height, plan.resized.width, plan.resized.height, plan.out, filter);
}

Pixels resized_pixels(const Plan& plan, Filter filter, const Pixels& pixels, Workspace& workspace) {
  const ptrdiff_t stride = ptrdiff_t{4} * plan.out.width;
  uint8_t* memory = workspace.resized.reserve(static_cast<size_t>(stride) * static_cast<size_t>(plan.out.height));
  resize(pixels, source_of(plan, filter), plan.crop.width, plan.crop.height, plan.resized.width, plan.resized.height,
         plan.out, filter, workspace.scratch, memory, stride);
  return {.data = memory, .stride = stride, .bytes_per_pixel = 4};
}

// `pixels` of this window, mirrored.
Pixels mirrored(const Window& window, const Pixels& pixels, Workspace& workspace) {
  constexpr int kMirrored = 2;
  const ptrdiff_t stride = static_cast<ptrdiff_t>(pixels.bytes_per_pixel) * window.width;
  uint8_t* memory = workspace.mirrored.reserve(static_cast<size_t>(stride) * static_cast<size_t>(window.height));
  copy_upright(pixels, {window.height, window.width}, kMirrored, memory);
  return {.data = memory, .stride = stride, .bytes_per_pixel = pixels.bytes_per_pixel};
}

}  // namespace

Window needed_window(const Plan& plan, Filter filter) {
  Window window = source_of(plan, filter);
  if (plan.flips_source()) window.left = plan.crop.width - window.left - window.width;
  window.left += plan.crop.left;
  window.top += plan.crop.top;
  return window;
}

Outcome check_fit(const Plan& plan, const Destination& destination) {
  if (plan.out.height == destination.height && plan.out.width == destination.width) return {};
  return {.status = Status::unsupported,
          .message = "a result of " + std::to_string(plan.out.height) + " x " + std::to_string(plan.out.width) +
                     " pixels does not fit into rows of " + std::to_string(destination.height) + " x " +
                     std::to_string(destination.width)};
}

void finish(const Plan& plan, Filter filter, const Pixels& pixels, Workspace& workspace, const Destination& destination,
            size_t index) {
  const bool flips_source = plan.flips_source();
  const Pixels source = flips_source ? mirrored(source_of(plan, filter), pixels, workspace) : pixels;
  const Pixels result = plan.resizes() ? resized_pixels(plan, filter, source, workspace) : source;
  lay_out(result, destination.width, destination.height, plan.flip && !flips_source, destination.channels_last,
          destination.element_size, destination.lut, row_of(destination, index));
}

void clear_row(const Destination& destination, size_t index) {
  std::memset(row_of(destination, index), 0, row_bytes(destination));
}

}  // namespace headrace
