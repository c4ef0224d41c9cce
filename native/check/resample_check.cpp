// Every SIMD path against the portable one, on windows of random resizes, with buffers that end where the pixels do.
// Prints a digest of all results: the same number on every machine.
//
// Usage: resample_check [number of cases, default 2000]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "resample/layout.h"
#include "resample/resample.h"

namespace headrace {
namespace {

using Bytes = std::vector<uint8_t>;

class Random {
 public:
  int between(int low, int high) { return low + static_cast<int>(engine_() % static_cast<uint32_t>(high - low + 1)); }
  uint8_t byte() {
    const uint32_t bits = engine_();
    return bits & 256 ? static_cast<uint8_t>(bits) : static_cast<uint8_t>(bits & 1 ? 255 : 0);
  }

 private:
  std::mt19937 engine_{20};
};

struct Case {
  int in_width, in_height, out_width, out_height, bytes_per_pixel;
  Window out;
  Filter filter;
};

Case draw(Random& random) {
  constexpr Filter kFilters[] = {Filter::nearest, Filter::bilinear, Filter::bicubic};
  const int largest = random.between(1, 8) == 1 ? 600 : 90;
  Case c{};
  c.in_width = random.between(1, largest);
  c.in_height = random.between(1, largest);
  c.out_width = random.between(0, 7) == 0 ? c.in_width : random.between(1, largest);
  c.out_height = random.between(0, 7) == 0 ? c.in_height : random.between(1, largest);
  c.bytes_per_pixel = random.between(3, 4);
  c.filter = kFilters[random.between(0, 2)];
  c.out.width = random.between(1, c.out_width);
  c.out.height = random.between(1, c.out_height);
  c.out.left = random.between(0, c.out_width - c.out.width);
  c.out.top = random.between(0, c.out_height - c.out.height);
  return c;
}

Bytes image_of(const Case& c, Random& random) {
  Bytes image(static_cast<size_t>(c.in_width) * c.in_height * c.bytes_per_pixel);
  std::generate(image.begin(), image.end(), [&] { return random.byte(); });
  return image;
}

// The part of the image that is needed, in a block of exactly its size.
Bytes cut(const Case& c, const Bytes& image, const Window& region) {
  const size_t row_bytes = static_cast<size_t>(region.width) * c.bytes_per_pixel;
  Bytes part(row_bytes * region.height);
  for (int y = 0; y < region.height; ++y) {
    const size_t from = (static_cast<size_t>(region.top + y) * c.in_width + region.left) * c.bytes_per_pixel;
    std::memcpy(part.data() + y * row_bytes, image.data() + from, row_bytes);
  }
  return part;
}

void forget_fourth(Bytes& rgbx) {
  for (size_t i = 3; i < rgbx.size(); i += 4) rgbx[i] = 0;
}

Bytes resized(const Case& c, const Bytes& image, Scratch& scratch) {
  const Window region = source_window(c.in_width, c.in_height, c.out_width, c.out_height, c.out, c.filter);
  const Bytes part = cut(c, image, region);
  const Pixels pixels{part.data(), static_cast<ptrdiff_t>(region.width) * c.bytes_per_pixel, c.bytes_per_pixel};
  Bytes result(static_cast<size_t>(c.out.width) * c.out.height * 4);
  resize(pixels, region, c.in_width, c.in_height, c.out_width, c.out_height, c.out, c.filter, scratch, result.data(),
         static_cast<ptrdiff_t>(c.out.width) * 4);
  forget_fourth(result);
  return result;
}

// The window cut out of the resize of the whole.
Bytes whole_then_cut(Case c, const Bytes& image, Scratch& scratch) {
  const Window out = c.out;
  c.out = {0, 0, c.out_width, c.out_height};
  const Bytes whole = resized(c, image, scratch);
  Bytes result(static_cast<size_t>(out.width) * out.height * 4);
  for (int y = 0; y < out.height; ++y) {
    std::memcpy(result.data() + static_cast<size_t>(y) * out.width * 4,
                whole.data() + (static_cast<size_t>(out.top + y) * c.out_width + out.left) * 4,
                static_cast<size_t>(out.width) * 4);
  }
  return result;
}

Bytes laid_out(const Case& c, const Bytes& rgbx, bool flip, bool channels_last, const SimdPath& path) {
  Bytes result(static_cast<size_t>(c.out.width) * c.out.height * 3);
  lay_out({rgbx.data(), static_cast<ptrdiff_t>(c.out.width) * 4, 4}, c.out.width, c.out.height, flip, channels_last, 1,
          nullptr, result.data(), path);
  return result;
}

class Digest {
 public:
  void add(const Bytes& bytes) {
    for (const uint8_t byte : bytes) value_ = (value_ ^ byte) * 0x100000001b3u;
  }
  unsigned long long value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;  // FNV-1a
};

void expect(bool equal, const Case& c, const SimdPath& path, const char* what) {
  if (equal) return;
  std::fprintf(stderr, "%s differs on path %s: %dx%d to %dx%d, window %d %d %d %d, %d bytes a pixel, filter %d\n", what,
               path.name.data(), c.in_width, c.in_height, c.out_width, c.out_height, c.out.left, c.out.top, c.out.width,
               c.out.height, c.bytes_per_pixel, static_cast<int>(c.filter));
  std::exit(1);
}

void check(const Case& c, const Bytes& image, std::vector<std::unique_ptr<Scratch>>& scratches, Digest& digest) {
  const Bytes wanted = whole_then_cut(c, image, *scratches.back());
  digest.add(wanted);
  for (auto& scratch : scratches) {
    const SimdPath& path = scratch->path();
    expect(resized(c, image, *scratch) == wanted, c, path, "resize");
    for (const int mode : {0, 1, 2, 3}) {
      const bool flip = mode % 2 != 0, channels_last = mode / 2 != 0;
      const Bytes reference = laid_out(c, wanted, flip, channels_last, kPortablePath);
      expect(laid_out(c, wanted, flip, channels_last, path) == reference, c, path, "layout");
    }
  }
}

void run(int num_cases) {
  std::vector<std::unique_ptr<Scratch>> scratches;
  for (const SimdPath* path : simd_paths()) scratches.push_back(std::make_unique<Scratch>(*path));
  Random random;
  Digest digest;
  for (int i = 0; i < num_cases; ++i) {
    const Case c = draw(random);
    check(c, image_of(c, random), scratches, digest);
  }
  std::printf("%d cases, paths:", num_cases);
  for (const SimdPath* path : simd_paths()) std::printf(" %s", path->name.data());
  std::printf(", digest %016llx\n", digest.value());
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  headrace::run(argc > 1 ? std::atoi(argv[1]) : 2000);
  return 0;
}
