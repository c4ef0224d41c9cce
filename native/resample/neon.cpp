#if defined(__aarch64__)
#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "resample/simd.h"

// A multiply-add of 32-bit lanes takes a whole weight: no need to cut it in two as on x86.

namespace headrace {
namespace {

inline uint8x8_t clipped(int32x4_t low, int32x4_t high) {
  const int16x8_t words =
      vcombine_s16(vqmovn_s32(vshrq_n_s32(low, kWeightBits)), vqmovn_s32(vshrq_n_s32(high, kWeightBits)));
  return vqmovun_s16(words);
}

inline int32x4_t half() { return vdupq_n_s32(kWeightHalf); }

inline int32x4_t widen_low(uint16x8_t words) { return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(words))); }
inline int32x4_t widen_high(uint16x8_t words) { return vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(words))); }

// --- Horizontal ------------------------------------------------------------------------------------------------------
// One output at a time, its channels in the four lanes; the taps come in pairs.

template <int BytesPerPixel>
inline int32x4_t weighted_pixels(const uint8_t* pixels, const int32_t* weights, int stride) {
  int32x4_t even = half(), odd = vdupq_n_s32(0);
  for (int tap = 0; tap < stride; tap += 2, pixels += 2 * BytesPerPixel) {
    uint8x8_t bytes = vld1_u8(pixels);
    if constexpr (BytesPerPixel == 3) {
      constexpr uint8_t spread[8] = {0, 1, 2, 255, 3, 4, 5, 255};  // 255: out of the table, gives 0
      bytes = vtbl1_u8(bytes, vld1_u8(spread));
    }
    const uint16x8_t words = vmovl_u8(bytes);
    even = vmlaq_n_s32(even, widen_low(words), weights[tap]);
    odd = vmlaq_n_s32(odd, widen_high(words), weights[tap + 1]);
  }
  return vaddq_s32(even, odd);
}

template <int BytesPerPixel>
void horizontal(const uint8_t* row, int origin, const Taps& taps, int begin, int count, uint8_t* dst) {
  const auto output = [&](int i) {
    const int index = begin + std::min(i, count - 1);
    const uint8_t* pixels = row + static_cast<ptrdiff_t>(taps.first[index] - origin) * BytesPerPixel;
    return weighted_pixels<BytesPerPixel>(pixels, taps.weights_of(index), taps.stride);
  };
  for (int i = 0; i < count; i += 2) {
    const uint8x8_t bytes = clipped(output(i), output(i + 1));
    if (i + 2 <= count) {
      vst1_u8(dst + 4 * i, bytes);
    } else {
      uint8_t last[8];
      vst1_u8(last, bytes);
      std::memcpy(dst + 4 * i, last, 4);
    }
  }
}

void horizontal_any(const uint8_t* row, int bytes_per_pixel, int origin, const Taps& taps, int begin, int count,
                    uint8_t* dst) {
  if (bytes_per_pixel == 4) {
    horizontal<4>(row, origin, taps, begin, count, dst);
  } else {
    horizontal<3>(row, origin, taps, begin, count, dst);
  }
}

// --- Vertical --------------------------------------------------------------------------------------------------------

constexpr size_t kBlock = 16;

inline void vertical_block(const uint8_t* const* rows, const int32_t* weights, int num_rows, size_t at, uint8_t* dst) {
  int32x4_t sums[4] = {half(), half(), half(), half()};
  for (int row = 0; row < num_rows; ++row) {
    const uint8x16_t bytes = vld1q_u8(rows[row] + at);
    const uint16x8_t left = vmovl_u8(vget_low_u8(bytes)), right = vmovl_u8(vget_high_u8(bytes));
    sums[0] = vmlaq_n_s32(sums[0], widen_low(left), weights[row]);
    sums[1] = vmlaq_n_s32(sums[1], widen_high(left), weights[row]);
    sums[2] = vmlaq_n_s32(sums[2], widen_low(right), weights[row]);
    sums[3] = vmlaq_n_s32(sums[3], widen_high(right), weights[row]);
  }
  vst1q_u8(dst + at, vcombine_u8(clipped(sums[0], sums[1]), clipped(sums[2], sums[3])));
}

void vertical(const uint8_t* const* rows, const int32_t* weights, int num_rows, size_t num_bytes, uint8_t* dst) {
  if (num_bytes < kBlock) return kPortablePath.vertical(rows, weights, num_rows, num_bytes, dst);
  for (size_t at = 0; at + kBlock <= num_bytes; at += kBlock) vertical_block(rows, weights, num_rows, at, dst);
  // The rest overlaps what is done already: the same sums once more.
  if (num_bytes % kBlock != 0) vertical_block(rows, weights, num_rows, num_bytes - kBlock, dst);
}

// --- Layout ----------------------------------------------------------------------------------------------------------

inline uint8x16_t reversed(uint8x16_t bytes) {
  const uint8x16_t halves = vrev64q_u8(bytes);
  return vextq_u8(halves, halves, 8);
}

// Sixteen pixels by channel, as outputs from `x` on.
inline uint8x16x4_t channels_at(const uint8_t* row, int width, bool flip, int x) {
  uint8x16x4_t channels = vld4q_u8(row + 4 * static_cast<ptrdiff_t>(flip ? width - 16 - x : x));
  if (flip) {
    for (auto& channel : channels.val) channel = reversed(channel);
  }
  return channels;
}

void split(const uint8_t* row, int width, bool flip, uint8_t* red, uint8_t* green, uint8_t* blue) {
  constexpr int kStep = 16;
  if (width < kStep) return kPortablePath.split(row, width, flip, red, green, blue);
  for (int x = 0;; x = std::min(x + kStep, width - kStep)) {
    const uint8x16x4_t channels = channels_at(row, width, flip, x);
    vst1q_u8(red + x, channels.val[0]);
    vst1q_u8(green + x, channels.val[1]);
    vst1q_u8(blue + x, channels.val[2]);
    if (x == width - kStep) return;
  }
}

void pack(const uint8_t* row, int width, bool flip, uint8_t* dst) {
  constexpr int kStep = 16;
  if (width < kStep) return kPortablePath.pack(row, width, flip, dst);
  for (int x = 0;; x = std::min(x + kStep, width - kStep)) {
    const uint8x16x4_t channels = channels_at(row, width, flip, x);
    vst3q_u8(dst + 3 * static_cast<ptrdiff_t>(x), {{channels.val[0], channels.val[1], channels.val[2]}});
    if (x == width - kStep) return;
  }
}

}  // namespace

const SimdPath kNeonPath{"neon", nullptr, horizontal_any, vertical, split, pack};

}  // namespace headrace
#endif
