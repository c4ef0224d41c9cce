#include "kernel/whole.h"

#include <limits>
#include <new>

#include "kernel/encoded.h"
#include "kernel/orient.h"
#include "kernel/work_order.h"
#include "kernel/workspace.h"

namespace headrace {
namespace {

std::unique_ptr<uint8_t[]> packed(Size size) {
  constexpr size_t kBytes = 3;
  return std::make_unique_for_overwrite<uint8_t[]>(kBytes * static_cast<size_t>(size.height) *
                                                   static_cast<size_t>(size.width));
}

WholeImage turned(const WholeImage& stored, int orientation) {
  constexpr int kBytes = 3;
  const Size size = upright_size(stored.size, orientation);
  WholeImage upright = {.pixels = packed(size), .size = size};
  const Pixels pixels = {
      .data = stored.pixels.get(), .stride = ptrdiff_t{kBytes} * stored.size.width, .bytes_per_pixel = kBytes};
  copy_upright(pixels, size, orientation, upright.pixels.get());
  return upright;
}

Outcome decode_one(const JpegInputs& jpegs, size_t index, bool apply_exif, const DecodeLimits& limits,
                   WholeImage& image, Report& report) {
  Workspace& workspace = Workspace::of_this_thread();
  Decoder& decoder = workspace.decoder;
  std::span<const uint8_t> bytes;
  Outcome outcome = encoded_bytes(jpegs, index, workspace, bytes);
  if (!outcome.ok()) return outcome;
  outcome = decoder.open(bytes.data(), bytes.size(), apply_exif, limits);
  if (!outcome.ok()) return outcome;
  const Header& header = decoder.header();
  const Size upright = upright_size({header.height, header.width}, header.orientation);
  report.set_image(index, upright, header.orientation);
  report.set_box(index, {.left = 0, .top = 0, .width = upright.width, .height = upright.height}, false);
  image.size = {header.height, header.width};
  image.pixels = packed(image.size);
  outcome = decoder.read_all(image.pixels.get());
  if (!outcome.ok()) {
    image.pixels.reset();
  } else if (header.orientation != 1) {
    image = turned(image, header.orientation);
  }
  return outcome;
}

}  // namespace

bool decode_whole(Pool& pool, const JpegInputs& jpegs, bool apply_exif, const DecodeLimits& limits,
                  std::vector<WholeImage>& images, Report& report) {
  const auto order = largest_first(jpegs.count, [&](uint32_t index) { return jpegs.sizes[index]; });
  return pool.run(order, [&](uint32_t index) {
    Outcome outcome;
    try {
      outcome = decode_one(jpegs, index, apply_exif, limits, images[index], report);
    } catch (const std::bad_alloc&) {
      images[index].pixels.reset();
      outcome = {.status = Status::over_limit, .message = "out of memory"};
    }
    report.set_outcome(index, std::move(outcome));
  });
}

void probe_headers(const JpegInputs& jpegs, bool apply_exif, Probe* probes, uint8_t* status) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const DecodeLimits limits = {.pixels = kNoLimit, .scans = 1, .decoder_bytes = kNoLimit};
  Workspace& workspace = Workspace::of_this_thread();
  Decoder& decoder = workspace.decoder;
  for (size_t i = 0; i < jpegs.count; ++i) {
    std::span<const uint8_t> bytes;
    Outcome outcome = encoded_bytes(jpegs, i, workspace, bytes);
    if (outcome.ok()) outcome = decoder.open(bytes.data(), bytes.size(), apply_exif, limits);
    const Header& header = decoder.header();
    status[i] = static_cast<uint8_t>(outcome.status);
    const Size size = upright_size({header.height, header.width}, header.orientation);
    probes[i] = outcome.ok() ? Probe{size.height, size.width, header.components, header.progressive} : Probe{};
  }
}

}  // namespace headrace
