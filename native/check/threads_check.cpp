// Pools that several threads use at once, for the thread sanitiser: batches of images from memory and from the page
// cache, turns, a pool that is closed under its callers, and tables that are made at their first use.
//
// Usage: threads_check IMAGE.jpg [number of rounds, default 20]
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "fuzz/geometry_choice.h"
#include "io/cached_ranges.h"
#include "kernel/batch.h"
#include "kernel/whole.h"

namespace headrace {
namespace {

constexpr int kNumThreads = 3, kNumCallers = 4;
constexpr size_t kNumImages = 8;
constexpr uint8_t kNumKinds = 7;  // of geometries
using Bytes = std::vector<uint8_t>;

void must(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "Not so: %s\n", what);
  std::exit(1);
}

// The same image many times, in memory and in a file.
struct Images {
  explicit Images(const Bytes& image) : bytes(image), file(std::tmpfile()) {
    must(file != nullptr && std::fwrite(image.data(), 1, image.size(), file) == image.size(), "the image is written");
    must(std::fflush(file) == 0, "the image is flushed");
    addresses.assign(kNumImages, reinterpret_cast<uintptr_t>(bytes.data()));
    sizes.assign(kNumImages, bytes.size());
  }
  ~Images() { std::fclose(file); }
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  io::CachedRanges ranges() const {
    return {std::vector<int32_t>(kNumImages, fileno(file)), std::vector<uint64_t>(kNumImages), sizes};
  }

  const Bytes& bytes;
  std::FILE* file;
  std::vector<uint64_t> addresses, sizes;
};

Bytes rows_of(Pool& pool, const JpegInputs& jpegs, uint8_t kind, bool& taken) {
  const uint8_t choices[] = {kind, static_cast<uint8_t>(kind + 1), 15, 17};
  const Geometry geometry = geometry_of(choices);
  Bytes rows(kNumImages * size_t{3} * 16 * 18);
  const std::vector<uint64_t> keys(kNumImages, 7);
  const std::vector<int32_t> boxes = [] {
    std::vector<int32_t> all;
    for (size_t i = 0; i < kNumImages; ++i) all.insert(all.end(), {0, 0, 8, 8});
    return all;
  }();
  Report report(kNumImages);
  const RowInputs inputs{keys.data(), geometry.kind == GeometryKind::boxes ? boxes.data() : nullptr, nullptr};
  const Destination to{.data = rows.data(),
                       .height = geometry.height,
                       .width = geometry.width,
                       .channels_last = false,
                       .element_size = 1,
                       .lut = nullptr,
                       .rows = nullptr};
  taken = run_jpegs(pool, geometry, jpegs, inputs, to, report);
  for (const uint8_t status : report.status()) {
    must(!taken || status == static_cast<uint8_t>(Status::ok), "the image is decoded");
  }
  return rows;
}

// What one caller does in a pool that others use too.
void call(Pool& pool, const Images& images, int caller, const std::vector<Bytes>& expected) {
  const io::CachedRanges ranges = images.ranges();
  const JpegInputs cached{kNumImages, nullptr, ranges.sizes().data(), &ranges};
  const JpegInputs in_memory{kNumImages, images.addresses.data(), images.sizes.data()};
  const bool looks = ranges.all_there();
  for (uint8_t kind = 0; kind < kNumKinds; ++kind) {
    Pool::set_turn(static_cast<uint64_t>(kind * 3 + caller));
    bool taken = false;
    const Bytes rows = rows_of(pool, looks && (kind + caller) % 2 == 0 ? cached : in_memory, kind, taken);
    must(!taken || expected.empty() || rows == expected[kind], "rows are those of a caller alone");
  }
  std::vector<WholeImage> whole(kNumImages);
  Report report(kNumImages);
  decode_whole(pool, in_memory, true, small_limits(), whole, report);
}

void round(const Images& images, const std::vector<Bytes>& expected, bool closes) {
  Pool pool(kNumThreads);
  std::vector<std::thread> callers;
  callers.reserve(kNumCallers);
  for (int caller = 0; caller < kNumCallers; ++caller) {
    callers.emplace_back([&, caller] { call(pool, images, caller, expected); });
  }
  if (closes) pool.close();
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  using namespace headrace;
  must(argc > 1, "an image is named");
  std::ifstream file(argv[1], std::ios::binary);
  const Bytes image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const int num_rounds = argc > 2 ? std::atoi(argv[2]) : 20;
  const Images images(image);
  const JpegInputs in_memory{kNumImages, images.addresses.data(), images.sizes.data()};
  std::vector<Bytes> expected;
  // The first round has no answers to compare with: whatever is made at its first use is made by several threads then.
  round(images, {}, false);
  for (uint8_t kind = 0; kind < kNumKinds; ++kind) {
    Pool alone(0);
    bool taken = false;
    expected.push_back(rows_of(alone, in_memory, kind, taken));
  }
  for (int i = 0; i < num_rounds; ++i) round(images, expected, i % 4 == 3);
  std::printf("%d rounds of %d callers\n", num_rounds, kNumCallers);
}
