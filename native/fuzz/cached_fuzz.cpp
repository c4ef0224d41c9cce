// Images that are copied from the page cache right before they are decoded: ranges of a file that lie, files that are
// cut and descriptors that are none, against the same bytes in memory. The last four bytes choose the geometry, the
// eight before them the ranges; what comes before is the file, as a rule a JPEG.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "fuzz/geometry_choice.h"
#include "fuzz/target.h"
#include "io/cached_ranges.h"
#include "kernel/batch.h"
#include "kernel/whole.h"

namespace headrace {
namespace {

constexpr size_t kNumChoices = 12, kNumImages = 3;
constexpr auto kUnread = static_cast<uint8_t>(Status::unread);

// One file for all inputs: its contents change, as those of a file do that somebody writes to.
class TestFile {
 public:
  TestFile() : fd_(fileno(std::tmpfile())) {}

  int fd() const { return fd_; }

  void hold(const std::vector<uint8_t>& bytes) const {
    cut(0);
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), 0);
    promise(written == static_cast<ssize_t>(bytes.size()), "a file takes some bytes");
  }

  void cut(size_t size) const { promise(ftruncate(fd_, static_cast<off_t>(size)) == 0, "a file can be cut"); }

  // Whether this system tells what of this file is in the page cache.
  bool tells() const {
    hold({1});
    const uint64_t offset = 0, size = 1;
    return io::CachedRanges({&fd_, 1}, {&offset, 1}, {&size, 1}).all_there();
  }

 private:
  int fd_;
};

struct Ranges {
  std::array<int32_t, kNumImages> fds;
  std::array<uint64_t, kNumImages> offsets, sizes;

  io::CachedRanges cached() const { return {fds, offsets, sizes}; }

  // Whether an image lies in a file of this size that is open.
  bool is_there(size_t image, size_t file_size) const {
    const bool inside = offsets[image] <= file_size && sizes[image] <= file_size - offsets[image];
    return sizes[image] == 0 || (fds[image] >= 0 && inside);
  }
};

// The whole file, a part of it that may go beyond its end, and a part of no file at all, or none of it.
Ranges ranges_of(int fd, size_t size, const uint8_t* choices) {
  const uint64_t far = (choices[0] & 1) != 0 ? uint64_t{choices[1]} << 55 : 0;
  return {.fds = {fd, fd, (choices[0] & 2) != 0 ? -1 : fd},
          .offsets = {0, (choices[2] * size >> 8) + far, choices[3]},
          .sizes = {size, choices[4] * size >> 7, choices[5] % 64U}};
}

struct Made {
  std::vector<uint8_t> rows;
  Report report{kNumImages};

  explicit Made(const Geometry& geometry) : rows(kNumImages * row_bytes(geometry), 0x5a) {}

  static size_t row_bytes(const Geometry& geometry) {
    return size_t{3} * static_cast<size_t>(geometry.height) * static_cast<size_t>(geometry.width);
  }
  Destination destination(const Geometry& geometry) {
    return {.data = rows.data(),
            .height = geometry.height,
            .width = geometry.width,
            .channels_last = false,
            .element_size = 1,
            .lut = nullptr,
            .rows = nullptr};
  }
  bool same_row(const Made& other, size_t image) const {
    const auto size = static_cast<ptrdiff_t>(rows.size() / kNumImages), start = size * static_cast<ptrdiff_t>(image);
    return std::equal(rows.begin() + start, rows.begin() + start + size, other.rows.begin() + start);
  }
};

constexpr std::array<uint64_t, kNumImages> kKeys{1, 2, 3};

Made as_batch(Pool& pool, const Geometry& geometry, const JpegInputs& jpegs) {
  Made made(geometry);
  const RowInputs inputs{kKeys.data(), nullptr, nullptr};
  promise(run_jpegs(pool, geometry, jpegs, inputs, made.destination(geometry), made.report), "an open pool takes it");
  return made;
}

// Two views alike: what is copied once is decoded for both.
Made as_views(Pool& pool, const Geometry& geometry, const JpegInputs& jpegs) {
  Made first(geometry), second(geometry);
  const RowInputs inputs{kKeys.data(), nullptr, nullptr};
  promise(run_views(pool, jpegs,
                    {{&geometry, inputs, first.destination(geometry), &first.report},
                     {&geometry, inputs, second.destination(geometry), &second.report}}),
          "an open pool takes views");
  promise(first.rows == second.rows && first.report.status() == second.report.status(), "equal views are equal");
  return first;
}

void compare(const Made& cached, const Made& in_memory, const Ranges& ranges, size_t file_size) {
  for (size_t image = 0; image < kNumImages; ++image) {
    const bool there = ranges.is_there(image, file_size);
    const uint8_t status = cached.report.status()[image];
    promise(there == (status != kUnread), "what is there is read, and nothing else");
    if (!there) continue;
    promise(status == in_memory.report.status()[image], "the bytes of the file fare as those in memory");
    promise(cached.same_row(in_memory, image), "the bytes of the file give the pixels of those in memory");
  }
}

void compare_whole(Pool& pool, const JpegInputs& cached, const JpegInputs& in_memory, const Ranges& ranges,
                   size_t file_size) {
  std::vector<WholeImage> of_file(kNumImages), of_memory(kNumImages);
  Report report(kNumImages), expected(kNumImages);
  promise(decode_whole(pool, cached, true, small_limits(), of_file, report), "an open pool decodes");
  promise(decode_whole(pool, in_memory, true, small_limits(), of_memory, expected), "an open pool decodes");
  for (size_t image = 0; image < kNumImages; ++image) {
    const bool there = ranges.is_there(image, file_size);
    promise(there == (report.status()[image] != kUnread), "what is there is decoded, and nothing else");
    if (!there) continue;
    promise(report.status()[image] == expected.status()[image], "whole images fare as those in memory");
    const size_t bytes = size_t{3} * static_cast<size_t>(of_memory[image].size.height) *
                         static_cast<size_t>(of_memory[image].size.width);
    const uint8_t* pixels = of_file[image].pixels.get();
    promise((pixels != nullptr) == (of_memory[image].pixels != nullptr), "whole images where those in memory are");
    promise(pixels == nullptr || std::equal(pixels, pixels + bytes, of_memory[image].pixels.get()),
            "whole images are those in memory");
  }
}

// The bytes of each range that is there, each ending where its memory does.
std::array<std::vector<uint8_t>, kNumImages> bytes_of(const Ranges& ranges, const std::vector<uint8_t>& file) {
  std::array<std::vector<uint8_t>, kNumImages> bytes;
  for (size_t image = 0; image < kNumImages; ++image) {
    if (!ranges.is_there(image, file.size()) || ranges.sizes[image] == 0) continue;
    const auto start = file.begin() + static_cast<ptrdiff_t>(ranges.offsets[image]);
    bytes[image].assign(start, start + static_cast<ptrdiff_t>(ranges.sizes[image]));
  }
  return bytes;
}

void try_file(Pool& pool, const TestFile& test_file, std::vector<uint8_t> file, const uint8_t* choices) {
  test_file.hold(file);
  const Ranges ranges = ranges_of(test_file.fd(), file.size(), choices);
  const io::CachedRanges cached = ranges.cached();
  if ((choices[6] & 1) != 0) file.resize(choices[7] * file.size() >> 8);
  test_file.cut(file.size());
  const auto bytes = bytes_of(ranges, file);
  std::array<uint64_t, kNumImages> addresses{}, sizes{};
  for (size_t image = 0; image < kNumImages; ++image) {
    addresses[image] = reinterpret_cast<uintptr_t>(bytes[image].data());
    sizes[image] = bytes[image].size();
  }
  const Geometry geometry = [&] {
    Geometry chosen = geometry_of(choices + 8);
    if (chosen.kind == GeometryKind::boxes) chosen.kind = GeometryKind::random_resized_crop;
    return chosen;
  }();
  const JpegInputs from_file{kNumImages, nullptr, cached.sizes().data(), &cached};
  const JpegInputs from_memory{kNumImages, addresses.data(), sizes.data()};
  compare(as_batch(pool, geometry, from_file), as_batch(pool, geometry, from_memory), ranges, file.size());
  compare(as_views(pool, geometry, from_file), as_views(pool, geometry, from_memory), ranges, file.size());
  compare_whole(pool, from_file, from_memory, ranges, file.size());
  bool all = true;
  for (size_t image = 0; image < kNumImages; ++image) all = all && ranges.is_there(image, file.size());
  promise(cached.all_there() == all, "the last bytes tell whether all is there");
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  static Pool pool(0);
  static const TestFile test_file;
  static const bool tells = test_file.tells();
  if (size < kNumChoices || !tells) return 0;
  const uint8_t* choices = data + size - kNumChoices;
  try_file(pool, test_file, {data, choices}, choices);
  return 0;
}
