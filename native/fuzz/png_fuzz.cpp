// Filters of PNG rows on hostile bytes. The first byte is the width less 1, the rest are the rows.
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "fuzz/byte_reader.h"
#include "fuzz/target.h"
#include "png/unfilter.h"

namespace headrace {
namespace {

// What a filter adds to a byte, word for word as the specification has it (PNG, third edition, section 9.2).
std::optional<int> prediction(uint8_t filter, int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return a;
    case 2:
      return b;
    case 3:
      return (a + b) / 2;
    case 4:
      return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
    default:
      return {};
  }
}

// The pixels, or nothing where a filter does not exist.
std::optional<std::vector<uint8_t>> by_the_book(std::span<const uint8_t> rows, size_t height, size_t width) {
  std::vector<uint8_t> pixels(height * width);
  for (size_t y = 0; y < height; ++y) {
    const auto row = rows.subspan(y * (width + 1), width + 1);
    for (size_t x = 0; x < width; ++x) {
      const size_t at = y * width + x;
      const int a = x > 0 ? pixels[at - 1] : 0, b = y > 0 ? pixels[at - width] : 0,
                c = x > 0 && y > 0 ? pixels[at - width - 1] : 0;
      const auto predicted = prediction(row[0], a, b, c);
      if (!predicted) return {};
      pixels[at] = static_cast<uint8_t>(row[1 + x] + *predicted);
    }
  }
  return pixels;
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  ByteReader reader(data, size);
  const auto width = static_cast<size_t>(reader.count(256));
  const size_t height = reader.rest().size() / (width + 1);
  // Blocks of their own sizes: a byte read or written behind them is seen.
  const std::vector<uint8_t> rows(reader.rest().begin(), reader.rest().begin() + height * (width + 1));
  const auto pixels = std::make_unique_for_overwrite<uint8_t[]>(height * width);
  const bool known = unfilter(rows.data(), height, width, pixels.get());
  const auto expected = by_the_book(rows, height, width);
  promise(known == expected.has_value(), "what is refused is a filter that does not exist");
  promise(!known || std::equal(expected->begin(), expected->end(), pixels.get()), "pixels are those of the book");
  return 0;
}
