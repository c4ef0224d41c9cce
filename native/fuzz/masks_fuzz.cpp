// Masks moved with their image: boxes and sizes of any kind, mask data of any element size at any address.
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "fuzz/byte_reader.h"
#include "fuzz/target.h"
#include "resample/masks.h"

namespace headrace {
namespace {

constexpr int64_t kMostPixels = 1 << 14;

struct Case {
  MaskMove move;
  int element_size;
  int height;
};

// As torch computes it, one position at a time.
int source_of(int output, int in_size, int out_size) {
  const float scale = static_cast<float>(in_size) / static_cast<float>(out_size);
  return std::min(static_cast<int>(std::floor(static_cast<float>(output) * scale)), in_size - 1);
}

void compare(const Case& one, const uint8_t* moved) {
  const MaskMove& move = one.move;
  const auto bytes = static_cast<size_t>(one.element_size);
  for (int y = 0; y < move.window.height; ++y) {
    for (int x = 0; x < move.window.width; ++x, moved += bytes) {
      const bool flips_result = move.flip && !move.flip_first;
      const int across = move.window.left + (flips_result ? move.window.width - 1 - x : x);
      const int source = source_of(across, move.crop.width, move.resized_width);
      const int column = move.crop.left + (move.flip && move.flip_first ? move.crop.width - 1 - source : source);
      const int row = move.crop.top + source_of(move.window.top + y, move.crop.height, move.resized_height);
      const size_t at = static_cast<size_t>(row) * static_cast<size_t>(move.width) + static_cast<size_t>(column);
      promise(std::memcmp(moved, move.data + at * bytes, bytes) == 0, "an element is the one that torch takes");
    }
  }
}

// Sizes, crop, resize and window as the binding gets them: any numbers; nothing where it would refuse them.
std::optional<Case> case_of(ByteReader& reader) {
  constexpr int kSizes[] = {1, 2, 4, 8};
  const int element_size = kSizes[reader.byte() % std::size(kSizes)];
  const bool flip = reader.flag(), flip_first = reader.flag();
  std::array<int64_t, 2> size{}, resized{};
  std::array<int64_t, 4> crop{}, window{};
  for (int64_t& edge : size) edge = reader.signed_number();
  for (int64_t& edge : crop) edge = reader.signed_number();
  for (int64_t& edge : resized) edge = reader.signed_number();
  for (int64_t& edge : window) edge = reader.signed_number();
  const auto move = checked_move(size.data(), crop.data(), resized.data(), window.data());
  if (!move) return {};
  Case one{*move, element_size, static_cast<int>(size[0])};
  one.move.flip = flip;
  one.move.flip_first = flip_first;
  return one;
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  ByteReader reader(data, size);
  std::optional<Case> one = case_of(reader);
  if (!one) return 0;
  const Window& window = one->move.window;
  if (int64_t{one->height} * one->move.width > kMostPixels || int64_t{window.height} * window.width > kMostPixels)
    return 0;
  const auto bytes = static_cast<size_t>(one->element_size);
  // Masks lie where a file has them: at any address, ending where their block ends.
  const size_t mask_bytes = bytes * static_cast<size_t>(one->height) * static_cast<size_t>(one->move.width);
  const size_t odd = reader.byte() % 8;
  const auto block = std::make_unique_for_overwrite<uint8_t[]>(odd + mask_bytes);
  for (size_t i = 0; i < mask_bytes; ++i) block[odd + i] = static_cast<uint8_t>(i * 31 + (i >> 8) + reader.byte());
  one->move.data = block.get() + odd;
  const size_t out_bytes = bytes * static_cast<size_t>(window.height) * static_cast<size_t>(window.width);
  const auto moved = std::make_unique_for_overwrite<uint8_t[]>(out_bytes);
  std::vector<int32_t> columns;
  move_mask(one->move, one->element_size, columns, moved.get());
  compare(*one, moved.get());
  return 0;
}
