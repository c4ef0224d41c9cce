#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "resample/avx2_layout.h"
#include "resample/simd.h"

// A weight has 23 bits and a sign, a multiplication of this instruction set that adds up pairs takes 16 bits. So each
// weight is cut into a high part and kLowBits low bits, both are summed up apart, and put together before rounding.
// Integer sums are exact, in whatever order; where one of the two wraps around, the whole is right all the same, as it
// fits its 32 bits.

#define HEADRACE_AVX2 __attribute__((target("avx2")))

namespace headrace {
namespace {

constexpr int kLowBits = 11;

int16_t high_part(int32_t weight) { return static_cast<int16_t>(weight >> kLowBits); }
int16_t low_part(int32_t weight) { return static_cast<int16_t>(weight & ((1 << kLowBits) - 1)); }

// Sums of one block of outputs.
struct Sums {
  __m256i high, low;
};

// One half is in the low sums from the beginning: the shift then rounds.
HEADRACE_AVX2 inline Sums empty_sums() { return {_mm256_setzero_si256(), _mm256_set1_epi32(kWeightHalf)}; }

HEADRACE_AVX2 inline void add(Sums& sums, __m256i pairs, __m256i high_weights, __m256i low_weights) {
  sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(pairs, high_weights));
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(pairs, low_weights));
}

HEADRACE_AVX2 inline __m256i rounded(const Sums& sums) {
  const __m256i total = _mm256_add_epi32(_mm256_slli_epi32(sums.high, kLowBits), sums.low);
  return _mm256_srai_epi32(total, kWeightBits);
}

// --- Horizontal ------------------------------------------------------------------------------------------------------
// Two outputs at a time, one in each half of a register; for two taps the half holds r0 r1 g0 g1 b0 b1 x0 x1.

// For each pair of outputs and each pair of taps: high weights, then low weights. One pair of outputs more than there
// are, as two are computed at a time.
void arrange(Taps& taps, int begin) {
  const int phase = begin & 1;
  if (taps.lanes_phase == phase) return;
  taps.lanes_phase = phase;
  const int tap_pairs = taps.stride / 2, output_pairs = (taps.out_size - phase + 1) / 2 + 1;
  taps.lanes.resize(static_cast<size_t>(output_pairs) * tap_pairs);
  WeightLanes* lanes = taps.lanes.data();
  for (int pair = 0; pair < output_pairs; ++pair) {
    const int output = phase + 2 * pair;
    const int32_t* left = taps.weights_of(std::min(output, taps.out_size - 1));
    const int32_t* right = taps.weights_of(std::min(output + 1, taps.out_size - 1));
    for (int tap = 0; tap < taps.stride; tap += 2, ++lanes) {
      for (int i = 0; i < 8; ++i) {
        lanes->words[i] = high_part(left[tap + i % 2]);
        lanes->words[8 + i] = high_part(right[tap + i % 2]);
        lanes->words[16 + i] = low_part(left[tap + i % 2]);
        lanes->words[24 + i] = low_part(right[tap + i % 2]);
      }
    }
  }
}

template <int BytesPerPixel>
HEADRACE_AVX2 inline __m256i pair_mask(int first_pixel) {
  constexpr char none = static_cast<char>(0x80);
  const auto at = [&](int pixel, int channel) {
    return static_cast<char>((first_pixel + pixel) * BytesPerPixel + channel);
  };
  return _mm256_broadcastsi128_si256(_mm_setr_epi8(at(0, 0), none, at(1, 0), none, at(0, 1), none, at(1, 1), none,  //
                                                   at(0, 2), none, at(1, 2), none, none, none, none, none));
}

HEADRACE_AVX2 inline __m256i load_two(const uint8_t* left, const uint8_t* right) {
  const __m256i low = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(left)));
  return _mm256_inserti128_si256(low, _mm_loadu_si128(reinterpret_cast<const __m128i*>(right)), 1);
}

// Sums for two outputs, whose pixels begin at `left` and `right`. TapPairs: 0 where known at run time alone.
template <int BytesPerPixel, int TapPairs>
HEADRACE_AVX2 inline __m256i two_outputs(const uint8_t* left, const uint8_t* right, const WeightLanes* lanes,
                                         int tap_pairs) {
  const __m256i mask = pair_mask<BytesPerPixel>(0), next_mask = pair_mask<BytesPerPixel>(2);
  const auto* weights = reinterpret_cast<const __m256i*>(lanes);
  const int num = TapPairs != 0 ? TapPairs : tap_pairs;
  Sums sums = empty_sums();
  int pair = 0;
  for (; pair + 2 <= num; pair += 2) {
    const ptrdiff_t offset = static_cast<ptrdiff_t>(pair) * 2 * BytesPerPixel;
    const __m256i pixels = load_two(left + offset, right + offset);
    add(sums, _mm256_shuffle_epi8(pixels, mask), weights[2 * pair], weights[2 * pair + 1]);
    add(sums, _mm256_shuffle_epi8(pixels, next_mask), weights[2 * pair + 2], weights[2 * pair + 3]);
  }
  if (pair < num) {
    const ptrdiff_t offset = static_cast<ptrdiff_t>(pair) * 2 * BytesPerPixel;
    const __m256i pixels = load_two(left + offset, right + offset);
    add(sums, _mm256_shuffle_epi8(pixels, mask), weights[2 * pair], weights[2 * pair + 1]);
  }
  return rounded(sums);
}

// Four outputs as RGBX.
template <int BytesPerPixel, int TapPairs>
HEADRACE_AVX2 inline __m128i four_outputs(const uint8_t* const (&pixels)[4], const WeightLanes* lanes, int tap_pairs) {
  const __m256i one = two_outputs<BytesPerPixel, TapPairs>(pixels[0], pixels[1], lanes, tap_pairs);
  const __m256i two = two_outputs<BytesPerPixel, TapPairs>(pixels[2], pixels[3], lanes + tap_pairs, tap_pairs);
  const __m256i words = _mm256_packs_epi32(one, two);  // outputs 0 2 | 1 3
  const __m256i bytes = _mm256_packus_epi16(words, words);
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
}

template <int BytesPerPixel, int TapPairs>
HEADRACE_AVX2 void horizontal(const uint8_t* row, int origin, const Taps& taps, int begin, int count, uint8_t* dst) {
  const int tap_pairs = taps.stride / 2;
  const int32_t* first = taps.first.data() + begin;
  const WeightLanes* lanes = taps.lanes.data() + static_cast<size_t>(begin / 2) * tap_pairs;
  const auto pixel = [&](int i) { return row + static_cast<ptrdiff_t>(first[i] - origin) * BytesPerPixel; };
  int i = 0;
  for (; i + 4 <= count; i += 4, lanes += static_cast<ptrdiff_t>(tap_pairs) * 2) {
    const uint8_t* const pixels[4] = {pixel(i), pixel(i + 1), pixel(i + 2), pixel(i + 3)};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 4 * static_cast<ptrdiff_t>(i)),
                     four_outputs<BytesPerPixel, TapPairs>(pixels, lanes, tap_pairs));
  }
  if (i == count) return;
  const auto rest = [&](int j) { return pixel(std::min(i + j, count - 1)); };
  const uint8_t* const pixels[4] = {rest(0), rest(1), rest(2), rest(3)};
  alignas(16) uint8_t last[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(last), four_outputs<BytesPerPixel, TapPairs>(pixels, lanes, tap_pairs));
  std::memcpy(dst + 4 * static_cast<ptrdiff_t>(i), last, static_cast<size_t>(count - i) * 4);
}

template <int BytesPerPixel>
void horizontal_of(const uint8_t* row, int origin, const Taps& taps, int begin, int count, uint8_t* dst) {
  switch (taps.stride / 2) {
    case 1:
      return horizontal<BytesPerPixel, 1>(row, origin, taps, begin, count, dst);
    case 2:
      return horizontal<BytesPerPixel, 2>(row, origin, taps, begin, count, dst);
    case 3:
      return horizontal<BytesPerPixel, 3>(row, origin, taps, begin, count, dst);
    default:
      return horizontal<BytesPerPixel, 0>(row, origin, taps, begin, count, dst);
  }
}

void horizontal_any(const uint8_t* row, int bytes_per_pixel, int origin, const Taps& taps, int begin, int count,
                    uint8_t* dst) {
  if (bytes_per_pixel == 4) {
    horizontal_of<4>(row, origin, taps, begin, count, dst);
  } else {
    horizontal_of<3>(row, origin, taps, begin, count, dst);
  }
}

// --- Vertical --------------------------------------------------------------------------------------------------------
// Bytes of two rows interleaved make the pairs; 32 bytes at a time.

constexpr size_t kBlock = 32;

HEADRACE_AVX2 inline void add_rows(Sums (&sums)[4], __m256i upper, __m256i lower, __m256i high, __m256i low) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i left = _mm256_unpacklo_epi8(upper, lower), right = _mm256_unpackhi_epi8(upper, lower);
  add(sums[0], _mm256_unpacklo_epi8(left, zero), high, low);
  add(sums[1], _mm256_unpackhi_epi8(left, zero), high, low);
  add(sums[2], _mm256_unpacklo_epi8(right, zero), high, low);
  add(sums[3], _mm256_unpackhi_epi8(right, zero), high, low);
}

HEADRACE_AVX2 inline __m256i load(const uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

// The weights of two rows, cut in two; where there is no second row, its weight is 0.
struct TwoWeights {
  int16_t high[2], low[2];
};

void cut_weights(const int32_t* weights, int num_rows, std::vector<TwoWeights>& cut) {
  cut.clear();
  for (int row = 0; row < num_rows; row += 2) {
    const int32_t upper = weights[row], lower = row + 1 < num_rows ? weights[row + 1] : 0;
    cut.push_back({{high_part(upper), high_part(lower)}, {low_part(upper), low_part(lower)}});
  }
}

HEADRACE_AVX2 inline __m256i in_all_lanes(const int16_t (&pair)[2]) {
  int32_t lane;
  std::memcpy(&lane, pair, sizeof lane);
  return _mm256_set1_epi32(lane);
}

HEADRACE_AVX2 inline void vertical_block(const uint8_t* const* rows, const TwoWeights* weights, int num_rows, size_t at,
                                         uint8_t* dst) {
  Sums sums[4] = {empty_sums(), empty_sums(), empty_sums(), empty_sums()};
  for (int row = 0; row < num_rows; row += 2, ++weights) {
    add_rows(sums, load(rows[row] + at), load(rows[std::min(row + 1, num_rows - 1)] + at), in_all_lanes(weights->high),
             in_all_lanes(weights->low));
  }
  const __m256i left = _mm256_packs_epi32(rounded(sums[0]), rounded(sums[1]));
  const __m256i right = _mm256_packs_epi32(rounded(sums[2]), rounded(sums[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + at), _mm256_packus_epi16(left, right));
}

HEADRACE_AVX2 void vertical(const uint8_t* const* rows, const int32_t* weights, int num_rows, size_t num_bytes,
                            uint8_t* dst) {
  if (num_bytes < kBlock) return kPortablePath.vertical(rows, weights, num_rows, num_bytes, dst);
  thread_local std::vector<TwoWeights> cut;
  cut_weights(weights, num_rows, cut);
  for (size_t at = 0; at + kBlock <= num_bytes; at += kBlock) vertical_block(rows, cut.data(), num_rows, at, dst);
  // The rest overlaps what is done already: the same sums once more.
  if (num_bytes % kBlock != 0) vertical_block(rows, cut.data(), num_rows, num_bytes - kBlock, dst);
}

}  // namespace

const SimdPath kAvx2Path{"avx2", arrange, horizontal_any, vertical, split_avx2, pack_avx2};

}  // namespace headrace
#endif
