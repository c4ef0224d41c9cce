// The JPEG batch kernel on hostile bytes. The last four bytes choose what is done to the image.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "fuzz/geometry_choice.h"
#include "fuzz/plain_decode.h"
#include "fuzz/target.h"
#include "jpeg/decoder.h"
#include "kernel/batch.h"
#include "kernel/whole.h"

namespace headrace {
namespace {

constexpr size_t kNumChoices = 4;
constexpr uint8_t kUntouched = 0x5a;
constexpr auto kOk = static_cast<uint8_t>(Status::ok);

struct Input {
  uint64_t address, size, key;
  std::array<int32_t, 4> box;
};

struct Result {
  std::vector<uint8_t> row;
  uint8_t status;
};

// Calls `work(inputs, destination, report)` for one row.
template <typename Work>
Result run(const Geometry& geometry, const Input& input, bool channels_last, const Work& work) {
  const int64_t row = 0;
  Result result{std::vector<uint8_t>(static_cast<size_t>(geometry.height) * geometry.width * 3, kUntouched), 0};
  Report report(1);
  const int32_t* box = geometry.kind == GeometryKind::boxes ? input.box.data() : nullptr;
  const Destination destination{.data = result.row.data(),
                                .height = geometry.height,
                                .width = geometry.width,
                                .channels_last = channels_last,
                                .element_size = 1,
                                .lut = nullptr,
                                .rows = &row};
  promise(work({&input.key, box, nullptr}, destination, report), "an open pool takes a batch");
  result.status = report.status()[0];
  return result;
}

Result run(Pool& pool, const Geometry& geometry, const Input& input, bool channels_last) {
  const JpegInputs jpegs{1, &input.address, &input.size};
  return run(geometry, input, channels_last, [&](const RowInputs& inputs, const Destination& to, Report& report) {
    return run_jpegs(pool, geometry, jpegs, inputs, to, report);
  });
}

bool all_zero(const std::vector<uint8_t>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

WholeImage decode(Pool& pool, const Input& input, bool apply_exif) {
  std::vector<WholeImage> images(1);
  Report report(1);
  promise(decode_whole(pool, {1, &input.address, &input.size}, apply_exif, small_limits(), images, report),
          "an open pool decodes");
  promise((report.status()[0] == kOk) == (images[0].pixels != nullptr), "pixels where OK");
  return std::move(images[0]);
}

Result run(Pool& pool, const Geometry& geometry, const WholeImage& image, const Input& input, bool channels_last) {
  const uint64_t address = reinterpret_cast<uintptr_t>(image.pixels.get());
  const int64_t stride = int64_t{3} * image.size.width;
  const PixelInputs pixels{1, &address, &image.size.height, &image.size.width, &stride};
  return run(geometry, input, channels_last, [&](const RowInputs& inputs, const Destination& to, Report& report) {
    return run_pixels(pool, geometry, pixels, inputs, to, report);
  });
}

void try_image(Pool& pool, const Input& input, const uint8_t* choices) {
  const Geometry geometry = geometry_of(choices);
  const bool channels_last = (choices[1] & 128) != 0;
  const Result result = run(pool, geometry, input, channels_last);
  promise(result.status == kOk || all_zero(result.row), "a failed row is zero");
  const WholeImage whole = decode(pool, input, geometry.apply_exif);
  const Result again = run(pool, geometry, input, channels_last);
  promise(again.status == result.status && again.row == result.row, "the same input gives the same row");
  if (whole.pixels == nullptr || result.status != kOk || geometry.dct_scaling) return;
  const Result full = run(pool, geometry, whole, input, channels_last);
  promise(full.status == kOk && full.row == result.row, "a partial decode gives the pixels of a full one");
}

// Our own entropy decoding, skipping and cropping against libjpeg's decoding of all that comes before.
void try_region(const std::vector<uint8_t>& file, const uint8_t* choices) {
  Decoder decoder;
  if (!decoder.open(file.data(), file.size(), false, small_limits()).ok()) return;
  const int scale = 1 << choices[1] % 4;
  const int width = Decoder::scaled(decoder.header().width, scale);
  const int height = Decoder::scaled(decoder.header().height, scale);
  const int left = choices[0] % width, top = choices[2] % height;
  const Window region{left, top, 1 + choices[3] % (width - left), 1 + choices[0] % (height - top)};
  Surface surface;
  Pixels pixels;
  if (!decoder.read(region, scale, surface, pixels).ok()) return;
  PlainDecode plain;
  promise(plain.run(file.data(), file.size(), scale, region.top + region.height), "libjpeg decodes it too, unharmed");
  for (int y = 0; y < region.height; ++y) {
    const uint8_t* row = pixels.data + y * pixels.stride;
    const bool same = std::memcmp(row, plain.pixel(region.left, region.top + y), size_t{4} * region.width) == 0;
    promise(same, "a region has the pixels that libjpeg gives");
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  static Pool pool(0);
  if (size < kNumChoices) return 0;
  const uint8_t* choices = data + size - kNumChoices;
  // Bytes on the heap, ending where the file ends.
  const std::vector<uint8_t> file(data, choices);
  const Input input{.address = reinterpret_cast<uintptr_t>(file.data()),
                    .size = file.size(),
                    .key = choices[0] + 257U * choices[1],
                    .box = {choices[2] / 8, choices[3] / 8, 1 + choices[0] % 16, 1 + choices[1] % 16}};
  Probe probe{};
  uint8_t status = 0;
  probe_headers({1, &input.address, &input.size}, (choices[1] & 32) != 0, &probe, &status);
  try_image(pool, input, choices);
  try_region(file, choices);
  return 0;
}
