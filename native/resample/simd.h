// The inner loops, once for each instruction set; all give the same bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "resample/taps.h"

namespace headrace {

// The loops of one instruction set.
struct SimdPath {
  std::string_view name;

  // Rearranges taps.weights into taps.lanes for outputs from `begin` on; null where the path reads the plain weights.
  void (*arrange)(Taps& taps, int begin);

  // Computes outputs [begin, begin + count) of a row as RGBX. `row` is the pixel at column `origin`. May read
  // (taps.stride + 4) * bytes_per_pixel + 16 bytes from the first pixel of any output on.
  void (*horizontal)(const uint8_t* row, int bytes_per_pixel, int origin, const Taps& taps, int begin, int count,
                     uint8_t* dst);

  // Computes num_bytes weighted sums over num_rows rows, byte by byte; reads nothing else.
  void (*vertical)(const uint8_t* const* rows, const int32_t* weights, int num_rows, size_t num_bytes, uint8_t* dst);

  // Splits a row of RGBX pixels into three planes, from right to left where `flip` is set.
  void (*split)(const uint8_t* row, int width, bool flip, uint8_t* red, uint8_t* green, uint8_t* blue);

  // Drops the fourth byte of a row of RGBX pixels, from right to left where `flip` is set.
  void (*pack)(const uint8_t* row, int width, bool flip, uint8_t* dst);
};

extern const SimdPath kPortablePath;
#if defined(__x86_64__)
extern const SimdPath kAvx512Path;
extern const SimdPath kAvx2Path;
#endif
#if defined(__aarch64__)
extern const SimdPath kNeonPath;
#endif

// What this machine can run, fastest first; the last is always the portable path.
std::span<const SimdPath* const> simd_paths();

// The fastest path of this machine.
inline const SimdPath& best_path() { return *simd_paths().front(); }

}  // namespace headrace
