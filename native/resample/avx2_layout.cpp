#include "resample/avx2_layout.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "resample/simd.h"

#define HEADRACE_AVX2 __attribute__((target("avx2")))

namespace headrace {
namespace {

// Eight pixels as R x 8, G x 8, B x 8, X x 8, from right to left where `flip` is set.
HEADRACE_AVX2 inline __m256i planes_of_eight(const uint8_t* pixels, bool flip) {
  const __m256i by_channel =
      _mm256_broadcastsi128_si256(flip ? _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3)
                                       : _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m256i order = flip ? _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3) : _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return _mm256_permutevar8x32_epi32(
      _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixels)), by_channel), order);
}

HEADRACE_AVX2 inline void store(uint8_t* to, __m256i bytes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}

// Writes outputs [x, x + 32).
HEADRACE_AVX2 inline void split_block(const uint8_t* row, int width, bool flip, int x, uint8_t* red, uint8_t* green,
                                      uint8_t* blue) {
  __m256i eights[4];
  for (int i = 0; i < 4; ++i) {
    const int begin = x + 8 * i;
    eights[i] = planes_of_eight(row + 4 * static_cast<ptrdiff_t>(flip ? width - 8 - begin : begin), flip);
  }
  // 64-bit lanes R G B X of four eights: a 4 x 4 transpose, of which the last row is not needed.
  const __m256i rb01 = _mm256_unpacklo_epi64(eights[0], eights[1]), gx01 = _mm256_unpackhi_epi64(eights[0], eights[1]);
  const __m256i rb23 = _mm256_unpacklo_epi64(eights[2], eights[3]), gx23 = _mm256_unpackhi_epi64(eights[2], eights[3]);
  store(red + x, _mm256_permute2x128_si256(rb01, rb23, 0x20));
  store(green + x, _mm256_permute2x128_si256(gx01, gx23, 0x20));
  store(blue + x, _mm256_permute2x128_si256(rb01, rb23, 0x31));
}

// Writes 12 bytes for outputs [x, x + 4), and 4 more that the next ones write over.
HEADRACE_AVX2 inline void pack_block(const uint8_t* row, int width, bool flip, int x, uint8_t* dst) {
  const __m128i order = flip ? _mm_setr_epi8(12, 13, 14, 8, 9, 10, 4, 5, 6, 0, 1, 2, -1, -1, -1, -1)
                             : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const uint8_t* pixels = row + 4 * static_cast<ptrdiff_t>(flip ? width - 4 - x : x);
  const __m128i packed = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels)), order);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 3 * static_cast<ptrdiff_t>(x)), packed);
}

}  // namespace

HEADRACE_AVX2 void split_avx2(const uint8_t* row, int width, bool flip, uint8_t* red, uint8_t* green, uint8_t* blue) {
  constexpr int kStep = 32;
  if (width < kStep) return kPortablePath.split(row, width, flip, red, green, blue);
  for (int x = 0; x + kStep <= width; x += kStep) split_block(row, width, flip, x, red, green, blue);
  if (width % kStep != 0) split_block(row, width, flip, width - kStep, red, green, blue);
}

HEADRACE_AVX2 void pack_avx2(const uint8_t* row, int width, bool flip, uint8_t* dst) {
  constexpr int kStep = 4;
  int x = 0;
  for (; x + kStep + 2 <= width; x += kStep) pack_block(row, width, flip, x, dst);
  const int rest = width - x;
  const uint8_t* pixels = row + 4 * static_cast<ptrdiff_t>(flip ? 0 : x);
  kPortablePath.pack(pixels, rest, flip, dst + 3 * static_cast<ptrdiff_t>(x));
}

}  // namespace headrace
#endif
