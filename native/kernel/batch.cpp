#include "kernel/batch.h"

#include <new>

#include "kernel/encoded.h"
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

// Decodes a window of the upright image, at 1/scale of its size.
Outcome decode_window(const Window& upright, int scale, Workspace& workspace, Pixels& pixels) {
  const Header& header = workspace.decoder.header();
  const Size stored = {Decoder::scaled(header.height, scale), Decoder::scaled(header.width, scale)};
  const Window region = stored_window(upright, stored, header.orientation);
  Outcome outcome = workspace.decoder.read(region, scale, workspace.decoded, pixels);
  if (!outcome.ok() || header.orientation == 1) return outcome;
  const ptrdiff_t stride = ptrdiff_t{4} * upright.width;
  uint8_t* memory = workspace.upright.reserve(static_cast<size_t>(stride) * static_cast<size_t>(upright.height));
  copy_upright(pixels, {upright.height, upright.width}, header.orientation, memory);
  pixels = {.data = memory, .stride = stride, .bytes_per_pixel = 4};
  return outcome;
}

// Decodes what the plan needs, upright.
Outcome decode(const Plan& plan, const Geometry& geometry, int scale, Workspace& workspace, Pixels& pixels) {
  return decode_window(needed_window(plan, geometry.filter), scale, workspace, pixels);
}

class JpegBatch {
 public:
  JpegBatch(const Geometry& geometry, const JpegInputs& jpegs, const RowInputs& inputs, const Destination& destination,
            Report& report)
      : geometry_(geometry), jpegs_(jpegs), inputs_(inputs), destination_(destination), report_(report) {}

  Outcome run(size_t index) const {
    Workspace& workspace = Workspace::of_this_thread();
    std::span<const uint8_t> bytes;
    Outcome outcome = encoded_bytes(jpegs_, index, workspace, bytes);
    if (!outcome.ok()) return outcome;
    outcome = workspace.decoder.open(bytes.data(), bytes.size(), geometry_.apply_exif, geometry_.limits);
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

// All views of one image of a batch.
class ViewsOfImage {
 public:
  ViewsOfImage(const JpegInputs& jpegs, const std::vector<View>& views, size_t index)
      : jpegs_(jpegs), views_(views), index_(index), plans_(views.size()), outcomes_(views.size()) {}

  // What becomes of each view. Rows of views that are not OK are left as they are.
  std::vector<Outcome>& run() {
    Workspace& workspace = Workspace::of_this_thread();
    Outcome opened = encoded_bytes(jpegs_, index_, workspace, bytes_);
    if (opened.ok()) opened = open(workspace);
    if (!opened.ok()) {
      outcomes_.assign(views_.size(), opened);
      return outcomes_;
    }
    const Header& header = workspace.decoder.header();
    const Size image = upright_size({header.height, header.width}, header.orientation);
    std::vector<Window> windows;
    for (size_t view = 0; view < views_.size(); ++view) plan(view, image, header.orientation, windows);
    if (windows.empty()) return outcomes_;
    if (decode_together(windows, image, header.progressive != 0)) {
      together(around(windows), workspace);
    } else {
      apart(workspace);
    }
    workspace.trim();
    return outcomes_;
  }

 private:
  Outcome open(Workspace& workspace) const {
    const Geometry& geometry = *views_[0].geometry;
    return workspace.decoder.open(bytes_.data(), bytes_.size(), geometry.apply_exif, geometry.limits);
  }

  void plan(size_t view, Size image, int orientation, std::vector<Window>& windows) {
    const View& one = views_[view];
    one.report->set_image(index_, image, orientation);
    outcomes_[view] =
        make_plan(*one.geometry, image, one.inputs.keys[index_], given_of(one.inputs, index_), plans_[view]);
    if (outcomes_[view].ok()) outcomes_[view] = check_fit(plans_[view], one.destination);
    if (!outcomes_[view].ok()) return;
    one.report->set_box(index_, reported_box(*one.geometry, plans_[view]), plans_[view].flip);
    windows.push_back(needed_window(plans_[view], one.geometry->filter));
  }

  void together(const Window& region, Workspace& workspace) {
    Pixels whole;
    const Outcome decoded = decode_window(region, 1, workspace, whole);
    for (size_t view = 0; view < views_.size(); ++view) {
      if (!outcomes_[view].ok()) continue;
      outcomes_[view] = decoded;
      if (!decoded.ok()) continue;
      const Window window = needed_window(plans_[view], views_[view].geometry->filter);
      const ptrdiff_t offset = whole.stride * (window.top - region.top) +
                               static_cast<ptrdiff_t>(whole.bytes_per_pixel) * (window.left - region.left);
      const Pixels part = {
          .data = whole.data + offset, .stride = whole.stride, .bytes_per_pixel = whole.bytes_per_pixel};
      finish_view(view, part, workspace);
    }
  }

  void apart(Workspace& workspace) {
    bool fresh = true;
    for (size_t view = 0; view < views_.size(); ++view) {
      if (!outcomes_[view].ok()) continue;
      if (!fresh) outcomes_[view] = open(workspace);
      fresh = false;
      Pixels pixels;
      if (outcomes_[view].ok()) outcomes_[view] = decode(plans_[view], *views_[view].geometry, 1, workspace, pixels);
      if (outcomes_[view].ok()) finish_view(view, pixels, workspace);
    }
  }

  void finish_view(size_t view, const Pixels& pixels, Workspace& workspace) const {
    finish(plans_[view], views_[view].geometry->filter, pixels, workspace, views_[view].destination, index_);
  }

  const JpegInputs& jpegs_;
  const std::vector<View>& views_;
  size_t index_;
  std::span<const uint8_t> bytes_;
  std::vector<Plan> plans_;
  std::vector<Outcome> outcomes_;
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

bool run_views(Pool& pool, const JpegInputs& jpegs, const std::vector<View>& views) {
  const auto order = largest_first(jpegs.count, [&](uint32_t index) { return jpegs.sizes[index]; });
  return pool.run(order, [&](uint32_t index) {
    std::vector<Outcome> outcomes;
    try {
      outcomes = std::move(ViewsOfImage(jpegs, views, index).run());
    } catch (const std::bad_alloc&) {
      outcomes.assign(views.size(), {.status = Status::over_limit, .message = "out of memory"});
    }
    for (size_t view = 0; view < views.size(); ++view) {
      if (!outcomes[view].ok()) clear_row(views[view].destination, index);
      views[view].report->set_outcome(index, std::move(outcomes[view]));
    }
  });
}

}  // namespace headrace
