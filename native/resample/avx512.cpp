#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "resample/avx2_layout.h"
#include "resample/simd.h"

#if defined(__GNUC__) && !defined(__clang__)
// The intrinsics of GCC 12 leave lanes undefined on purpose, and then warn of it.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// VNNI multiplies four unsigned bytes by four signed ones and adds the products up. Pixels are bytes as they are; each
// weight is cut into three signed digits of base 256, which are summed up apart and put together before rounding.

#define HEADRACE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace headrace {
namespace {

constexpr int kNumDigits = 3;

// One digit of the weights of four taps, lowest byte first; for each digit, lowest first.
struct FourWeights {
  uint32_t digits[kNumDigits] = {};

  // Weights beyond `num` are 0.
  FourWeights(const int32_t* weights, int num) {
    for (int tap = 0; tap < std::min(num, 4); ++tap) {
      int32_t rest = weights[tap];
      for (uint32_t& digit : digits) {
        const auto lowest = static_cast<int8_t>(rest & 255);
        digit |= static_cast<uint32_t>(static_cast<uint8_t>(lowest)) << (8 * tap);
        rest = (rest - lowest) >> 8;
      }
    }
  }
};

// Sums of sixteen numbers, one for each digit.
struct Sums {
  __m512i digits[kNumDigits];
};

// One half is in the sums from the beginning: the shift then rounds.
HEADRACE_AVX512 inline Sums empty_sums() {
  return {{_mm512_set1_epi32(kWeightHalf), _mm512_setzero_si512(), _mm512_setzero_si512()}};
}

HEADRACE_AVX512 inline void add(Sums& sums, __m512i pixels, const __m512i (&weights)[kNumDigits]) {
  for (int i = 0; i < kNumDigits; ++i) sums.digits[i] = _mm512_dpbusd_epi32(sums.digits[i], pixels, weights[i]);
}

HEADRACE_AVX512 inline __m512i rounded(const Sums& sums) {
  const __m512i upper = _mm512_add_epi32(sums.digits[1], _mm512_slli_epi32(sums.digits[2], 8));
  const __m512i total = _mm512_add_epi32(sums.digits[0], _mm512_slli_epi32(upper, 8));
  return _mm512_srai_epi32(total, kWeightBits);
}

// --- Horizontal ------------------------------------------------------------------------------------------------------
// Four outputs at a time, one in each quarter of a register. A quarter holds four taps, channel by channel: four red
// bytes, four green, four blue, four that do not matter.

constexpr int kGroup = 4;

int chunks_of(const Taps& taps) { return (taps.stride + kGroup - 1) / kGroup; }

// For each group of outputs and each chunk of four taps: one block a digit.
void arrange(Taps& taps, int begin) {
  const int phase = begin % kGroup;
  if (taps.lanes_phase == phase) return;
  taps.lanes_phase = phase;
  const int num_groups = (taps.out_size - phase + kGroup - 1) / kGroup, num_chunks = chunks_of(taps);
  taps.lanes.resize(static_cast<size_t>(num_groups) * num_chunks * kNumDigits);
  for (int output = phase; output < taps.out_size; ++output) {
    const int group = (output - phase) / kGroup, quarter = (output - phase) % kGroup;
    WeightLanes* lanes = taps.lanes.data() + static_cast<ptrdiff_t>(group) * num_chunks * kNumDigits;
    for (int chunk = 0; chunk < num_chunks; ++chunk, lanes += kNumDigits) {
      const FourWeights four(taps.weights_of(output) + chunk * kGroup, taps.stride - chunk * kGroup);
      for (int digit = 0; digit < kNumDigits; ++digit) {
        std::fill_n(lanes[digit].fours + quarter * kGroup, kGroup, four.digits[digit]);
      }
    }
  }
}

template <int BytesPerPixel>
HEADRACE_AVX512 inline __m512i by_channel(__m512i pixels) {
  constexpr char none = static_cast<char>(0x80);
  const __m128i order = BytesPerPixel == 4
                            ? _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
                            : _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, none, none, none, none);
  return _mm512_shuffle_epi8(pixels, _mm512_broadcast_i32x4(order));
}

HEADRACE_AVX512 inline __m128i load_sixteen(const uint8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

HEADRACE_AVX512 inline __m512i load_four(const uint8_t* const (&pixels)[kGroup], ptrdiff_t offset) {
  __m512i all = _mm512_castsi128_si512(load_sixteen(pixels[0] + offset));
  all = _mm512_mask_broadcast_i32x4(all, 0x00f0, load_sixteen(pixels[1] + offset));
  all = _mm512_mask_broadcast_i32x4(all, 0x0f00, load_sixteen(pixels[2] + offset));
  return _mm512_mask_broadcast_i32x4(all, 0xf000, load_sixteen(pixels[3] + offset));
}

// Four outputs as RGBX. Chunks: 0 where known at run time alone.
template <int BytesPerPixel, int Chunks>
HEADRACE_AVX512 inline __m128i four_outputs(const uint8_t* const (&pixels)[kGroup], const WeightLanes* lanes,
                                            int num_chunks) {
  Sums sums = empty_sums();
  for (int chunk = 0; chunk < (Chunks != 0 ? Chunks : num_chunks); ++chunk, lanes += kNumDigits) {
    const __m512i weights[kNumDigits] = {_mm512_load_si512(lanes), _mm512_load_si512(lanes + 1),
                                         _mm512_load_si512(lanes + 2)};
    add(sums, by_channel<BytesPerPixel>(load_four(pixels, ptrdiff_t{chunk} * kGroup * BytesPerPixel)), weights);
  }
  return _mm512_cvtusepi32_epi8(_mm512_max_epi32(rounded(sums), _mm512_setzero_si512()));
}

template <int BytesPerPixel, int Chunks>
HEADRACE_AVX512 void horizontal(const uint8_t* row, int origin, const Taps& taps, int begin, int count, uint8_t* dst) {
  const int num_chunks = chunks_of(taps);
  const int32_t* first = taps.first.data() + begin;
  const WeightLanes* lanes = taps.lanes.data() + static_cast<size_t>(begin / kGroup) * num_chunks * kNumDigits;
  const auto pixel = [&](int i) { return row + static_cast<ptrdiff_t>(first[i] - origin) * BytesPerPixel; };
  int i = 0;
  for (; i + kGroup <= count; i += kGroup, lanes += static_cast<ptrdiff_t>(num_chunks) * kNumDigits) {
    const uint8_t* const pixels[kGroup] = {pixel(i), pixel(i + 1), pixel(i + 2), pixel(i + 3)};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 4 * static_cast<ptrdiff_t>(i)),
                     four_outputs<BytesPerPixel, Chunks>(pixels, lanes, num_chunks));
  }
  if (i == count) return;
  const auto rest = [&](int j) { return pixel(std::min(i + j, count - 1)); };
  const uint8_t* const pixels[kGroup] = {rest(0), rest(1), rest(2), rest(3)};
  const auto wanted = static_cast<__mmask8>((1 << (count - i)) - 1);
  _mm_mask_storeu_epi32(dst + 4 * static_cast<ptrdiff_t>(i), wanted,
                        four_outputs<BytesPerPixel, Chunks>(pixels, lanes, num_chunks));
}

template <int BytesPerPixel>
void horizontal_of(const uint8_t* row, int origin, const Taps& taps, int begin, int count, uint8_t* dst) {
  switch (chunks_of(taps)) {
    case 1:
      return horizontal<BytesPerPixel, 1>(row, origin, taps, begin, count, dst);
    case 2:
      return horizontal<BytesPerPixel, 2>(row, origin, taps, begin, count, dst);
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
// Bytes of four rows interleaved make the fours; 64 bytes at a time.

constexpr size_t kBlock = 64;

HEADRACE_AVX512 inline void add_rows(Sums (&sums)[4], const __m512i (&rows)[kGroup],
                                     const __m512i (&weights)[kNumDigits]) {
  const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]), high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]), high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
  add(sums[0], _mm512_unpacklo_epi16(low01, low23), weights);
  add(sums[1], _mm512_unpackhi_epi16(low01, low23), weights);
  add(sums[2], _mm512_unpacklo_epi16(high01, high23), weights);
  add(sums[3], _mm512_unpackhi_epi16(high01, high23), weights);
}

HEADRACE_AVX512 inline void store_block(const Sums (&sums)[4], uint8_t* dst) {
  const __m512i left = _mm512_packs_epi32(rounded(sums[0]), rounded(sums[1]));
  const __m512i right = _mm512_packs_epi32(rounded(sums[2]), rounded(sums[3]));
  _mm512_storeu_si512(dst, _mm512_packus_epi16(left, right));
}

HEADRACE_AVX512 inline void vertical_block(const uint8_t* const* rows, const FourWeights* weights, int num_rows,
                                           size_t at, uint8_t* dst) {
  Sums sums[4] = {empty_sums(), empty_sums(), empty_sums(), empty_sums()};
  for (int row = 0; row < num_rows; row += kGroup, ++weights) {
    __m512i bytes[kGroup], lanes[kNumDigits];
    for (int i = 0; i < kGroup; ++i) bytes[i] = _mm512_loadu_si512(rows[std::min(row + i, num_rows - 1)] + at);
    for (int i = 0; i < kNumDigits; ++i) lanes[i] = _mm512_set1_epi32(static_cast<int>(weights->digits[i]));
    add_rows(sums, bytes, lanes);
  }
  store_block(sums, dst + at);
}

HEADRACE_AVX512 void vertical(const uint8_t* const* rows, const int32_t* weights, int num_rows, size_t num_bytes,
                              uint8_t* dst) {
  if (num_bytes < kBlock) return kAvx2Path.vertical(rows, weights, num_rows, num_bytes, dst);
  thread_local std::vector<FourWeights> cut;
  cut.clear();
  for (int row = 0; row < num_rows; row += kGroup) cut.emplace_back(weights + row, num_rows - row);
  for (size_t at = 0; at + kBlock <= num_bytes; at += kBlock) vertical_block(rows, cut.data(), num_rows, at, dst);
  // The rest overlaps what is done already: the same sums once more.
  if (num_bytes % kBlock != 0) vertical_block(rows, cut.data(), num_rows, num_bytes - kBlock, dst);
}

}  // namespace

const SimdPath kAvx512Path{"avx512", arrange, horizontal_any, vertical, split_avx2, pack_avx2};

}  // namespace headrace
#endif
