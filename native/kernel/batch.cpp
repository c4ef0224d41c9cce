#include "kernel/batch.h"

#include <new>

#include "kernel/finish.h"
#include "kernel/orient.h"
#include "kernel/work_order.h"
#include "kernel/workspace.h"

namespace headrace {
namespace {

Given given_of(const RowInputs& inputs, size_t index) {
  return {.box = inputs.boxes != nullptr ? inputs.boxes + 4 * index : nullptr,
          .flip = inputs.flips != nullptr ? inputs.flips + index : nullptr};
}

// Decodes what the plan needs, upright.
Outcome decode(const Plan& plan, const Geometry& geometry, int scale, Workspace& workspace, Pixels& pixels) {
  const Header& header = workspace.decoder.header();
  const Size stored = {Decoder::scaled(header.height, scale), Decoder::scaled(header.width, scale)};
  const Window upright = needed_window(plan, geometry.filter);
  const Window region = stored_window(upright, stored, header.orientation);
  Outcome outcome = workspace.decoder.read(region, scale, workspace.decoded, pixels);
  if (!outcome.ok() || header.orientation == 1) return outcome;
  const ptrdiff_t stride = ptrdiff_t{4} * upright.width;
  uint8_t* memory = workspace.upright.reserve(static_cast<size_t>(stride) * static_cast<size_t>(upright.height));
  copy_upright(pixels, {upright.height, upright.width}, header.orientation, memory);
  pixels = {.data = memory, .stride = stride, .bytes_per_pixel = 4};
  return outcome;
}

class JpegBatch {
 public:
  JpegBatch(const Geometry& geometry, const JpegInputs& jpegs, const RowInputs& inputs, const Destination& destination,
            Report& report)
      : geometry_(geometry), jpegs_(jpegs), inputs_(inputs), destination_(destination), report_(report) {}

  Outcome run(size_t index) const {
    Workspace& workspace = Workspace::of_this_thread();
    const auto* data = reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(jpegs_.addresses[index]));
    Outcome outcome = workspace.decoder.open(data, jpegs_.sizes[index], geometry_.apply_exif, geometry_.limits);
    if (!outcome.ok()) return outcome;
    const Header& header = workspace.decoder.header();
    const Size image = upright_size({header.height, header.width}, header.orientation);
    report_.set_image(index, image, header.orientation);
    Plan plan;
    outcome = make_plan(geometry_, image, inputs_.keys[index], given_of(inputs_, index), plan);
    if (outcome.ok()) outcome = check_fit(plan, destination_);
    if (!outcome.ok()) return outcome;
    report_.set_box(index, reported_box(geometry_, plan), plan.flip);
    const int scale = geometry_.dct_scaling ? decode_scale(plan) : 1;
    if (scale != 1) plan = scaled_plan(plan, scale, image);
    Pixels pixels;
    outcome = decode(plan, geometry_, scale, workspace, pixels);
    if (outcome.ok()) finish(plan, geometry_.filter, pixels, workspace, destination_, index);
    workspace.trim();
    return outcome;
  }

 private:
  const Geometry& geometry_;
  const JpegInputs& jpegs_;
  const RowInputs& inputs_;
  const Destination& destination_;
  Report& report_;
};

class PixelBatch {
 public:
  PixelBatch(const Geometry& geometry, const PixelInputs& pixels, const RowInputs& inputs,
             const Destination& destination, Report& report)
      : geometry_(geometry), pixels_(pixels), inputs_(inputs), destination_(destination), report_(report) {}

  Outcome run(size_t index) const {
    const Size image = {pixels_.heights[index], pixels_.widths[index]};
    report_.set_image(index, image, 1);
    Plan plan;
    Outcome outcome = make_plan(geometry_, image, inputs_.keys[index], given_of(inputs_, index), plan);
    if (outcome.ok()) outcome = check_fit(plan, destination_);
    if (!outcome.ok()) return outcome;
    report_.set_box(index, reported_box(geometry_, plan), plan.flip);
    const Window window = needed_window(plan, geometry_.filter);
    const auto* data = reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(pixels_.addresses[index]));
    const auto stride = static_cast<ptrdiff_t>(pixels_.strides[index]);
    const Pixels pixels = {
        .data = data + stride * window.top + ptrdiff_t{3} * window.left, .stride = stride, .bytes_per_pixel = 3};
    Workspace& workspace = Workspace::of_this_thread();
    finish(plan, geometry_.filter, pixels, workspace, destination_, index);
    workspace.trim();
    return outcome;
  }

 private:
  const Geometry& geometry_;
  const PixelInputs& pixels_;
  const RowInputs& inputs_;
  const Destination& destination_;
  Report& report_;
};

// Runs an image of a batch, turns lack of memory into an outcome, and clears the row of what is not OK.
template <typename Batch>
bool run_batch(Pool& pool, const Batch& batch, const std::vector<uint32_t>& order, const Destination& destination,
               Report& report) {
  return pool.run(order, [&](uint32_t index) {
    Outcome outcome;
    try {
      outcome = batch.run(index);
    } catch (const std::bad_alloc&) {
      outcome = {.status = Status::over_limit, .message = "out of memory"};
    }
    if (!outcome.ok()) clear_row(destination, index);
    report.set_outcome(index, std::move(outcome));
  });
}

}  // namespace

bool run_jpegs(Pool& pool, const Geometry& geometry, const JpegInputs& jpegs, const RowInputs& inputs,
               const Destination& destination, Report& report) {
  const JpegBatch batch(geometry, jpegs, inputs, destination, report);
  const auto order = largest_first(jpegs.count, [&](uint32_t index) { return jpegs.sizes[index]; });
  return run_batch(pool, batch, order, destination, report);
}

bool run_pixels(Pool& pool, const Geometry& geometry, const PixelInputs& pixels, const RowInputs& inputs,
                const Destination& destination, Report& report) {
  const PixelBatch batch(geometry, pixels, inputs, destination, report);
  const auto order = largest_first(
      pixels.count, [&](uint32_t index) { return int64_t{pixels.heights[index]} * pixels.widths[index]; });
  return run_batch(pool, batch, order, destination, report);
}

}  // namespace headrace
