// Several views of one JPEG on hostile bytes, each held against the view alone. The last byte is the number of views
// less 1; five bytes before it choose what each view is, two before those what the batch is.
#include <algorithm>
#include <array>
#include <vector>

#include "fuzz/geometry_choice.h"
#include "fuzz/target.h"
#include "kernel/batch.h"

namespace headrace {
namespace {

constexpr size_t kMostViews = 4, kBytesOfView = 5, kBytesOfBatch = 2;
constexpr size_t kNumImages = 2, kNumRows = 3;
constexpr uint8_t kUntouched = 0x5a;
constexpr auto kOk = static_cast<uint8_t>(Status::ok);

// One of more geometries than those of a single image have: resizes of both edges, of a capped longer one, of none.
Geometry view_geometry(const uint8_t* choices, bool apply_exif) {
  Geometry geometry = geometry_of(choices);
  geometry.apply_exif = apply_exif;
  geometry.dct_scaling = false;
  // Boxes are never given for views.
  if (geometry.kind == GeometryKind::boxes) geometry.kind = GeometryKind::random_resized_crop;
  const uint8_t more = choices[4];
  geometry.scale[0] = (more & 3) / 4.0;
  geometry.crop_op = more & 4;
  const bool resizes =
      geometry.kind == GeometryKind::resize_center_crop || geometry.kind == GeometryKind::resize_random_crop;
  if (!resizes) geometry.resize_height = 0;
  if (resizes && (more & 8) != 0) geometry.resize_width = geometry.width + (more >> 6);
  if (resizes && (more & 24) == 16) geometry.max_size = geometry.resize_height + (more >> 5);
  return geometry;
}

// The rows of one view, as they are before, and where they go.
struct Rows {
  std::vector<uint8_t> bytes;
  std::array<int64_t, kNumImages> numbers;
  int element_size;
  bool channels_last;

  Rows(const Geometry& geometry, int element_size, bool channels_last, bool swapped)
      : bytes(kNumRows * row_bytes(geometry, element_size), kUntouched),
        numbers(swapped ? std::array<int64_t, kNumImages>{2, 0} : std::array<int64_t, kNumImages>{0, 1}),
        element_size(element_size),
        channels_last(channels_last) {}

  static size_t row_bytes(const Geometry& geometry, int element_size) {
    return size_t{3} * static_cast<size_t>(geometry.height * geometry.width * element_size);
  }

  std::vector<uint8_t> row(size_t number) const {
    const size_t size = bytes.size() / kNumRows;
    return {bytes.begin() + static_cast<ptrdiff_t>(size * number),
            bytes.begin() + static_cast<ptrdiff_t>(size * (number + 1))};
  }

  Destination destination(const Geometry& geometry) {
    static const std::vector<uint32_t> kLut = [] {
      std::vector<uint32_t> lut(size_t{3} * 256);
      for (size_t i = 0; i < lut.size(); ++i) lut[i] = static_cast<uint32_t>(i * 0x01010101U);
      return lut;
    }();
    return {.data = bytes.data(),
            .height = geometry.height,
            .width = geometry.width,
            .channels_last = channels_last,
            .element_size = element_size,
            .lut = element_size == 1 ? nullptr : kLut.data(),
            .rows = numbers.data()};
  }
};

struct Batch {
  std::vector<Geometry> geometries;
  std::array<uint64_t, kNumImages> addresses, sizes, keys;
  int element_size;
  bool channels_last, swapped;

  JpegInputs jpegs() const { return {kNumImages, addresses.data(), sizes.data()}; }
  RowInputs inputs() const { return {keys.data(), nullptr, nullptr}; }
  Rows rows(const Geometry& geometry) const { return {geometry, element_size, channels_last, swapped}; }
};

struct Made {
  Rows rows;
  Report report{kNumImages};
};

std::vector<Made> all_views(Pool& pool, const Batch& batch) {
  std::vector<Made> made;
  made.reserve(batch.geometries.size());
  std::vector<View> views;
  for (const Geometry& geometry : batch.geometries) {
    Made& one = made.emplace_back(Made{batch.rows(geometry)});
    views.push_back({&geometry, batch.inputs(), one.rows.destination(geometry), &one.report});
  }
  promise(run_views(pool, batch.jpegs(), views), "an open pool takes views");
  return made;
}

Made one_view(Pool& pool, const Batch& batch, const Geometry& geometry) {
  Made made{batch.rows(geometry)};
  promise(run_jpegs(pool, geometry, batch.jpegs(), batch.inputs(), made.rows.destination(geometry), made.report),
          "an open pool takes a batch");
  return made;
}

bool all(const std::vector<uint8_t>& bytes, uint8_t value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) { return byte == value; });
}

void compare(const Made& together, const Made& alone) {
  size_t untouched = 3;
  for (size_t image = 0; image < kNumImages; ++image) {
    const auto row = static_cast<size_t>(together.rows.numbers[image]);
    untouched -= row;
    const bool ok = together.report.status()[image] == kOk;
    promise(ok || all(together.rows.row(row), 0), "a failed row is zero");
    // What was decoded for other views may reach damage that this view alone does not, never the other way round.
    promise(!ok || alone.report.status()[image] == kOk, "a view that succeeds does so alone");
    promise(!ok || together.rows.row(row) == alone.rows.row(row), "a view has the pixels that it has alone");
    promise(together.report.params()[image] == alone.report.params()[image], "a view has the crop that it has alone");
  }
  promise(all(together.rows.row(untouched), kUntouched), "other rows stay as they are");
}

void try_views(Pool& pool, const Batch& batch) {
  const std::vector<Made> together = all_views(pool, batch);
  for (size_t view = 0; view < together.size(); ++view) {
    compare(together[view], one_view(pool, batch, batch.geometries[view]));
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  static Pool pool(0);
  const size_t num_views = size == 0 ? 0 : 1 + data[size - 1] % kMostViews;
  const size_t num_choices = 1 + num_views * kBytesOfView + kBytesOfBatch;
  if (size < num_choices) return 0;
  const uint8_t* choices = data + size - num_choices;
  // Bytes on the heap, ending where the file ends; the second image is the beginning of the first.
  const std::vector<uint8_t> file(data, choices);
  const std::vector<uint8_t> cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(file.size() * choices[1] / 256));
  Batch batch{.geometries = {},
              .addresses = {reinterpret_cast<uintptr_t>(file.data()), reinterpret_cast<uintptr_t>(cut.data())},
              .sizes = {file.size(), cut.size()},
              .keys = {choices[0] + 257U * choices[1], choices[0]},
              .element_size = 1 << choices[0] % 3,
              .channels_last = (choices[0] & 32) != 0,
              .swapped = (choices[0] & 64) != 0};
  for (size_t view = 0; view < num_views; ++view) {
    const uint8_t* of_view = choices + kBytesOfBatch + view * kBytesOfView;
    batch.geometries.push_back(view_geometry(of_view, (choices[0] & 128) != 0));
  }
  try_views(pool, batch);
  return 0;
}
