// Which input pixels make an output pixel, and with which fixed-point weights.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace {

// Numbers as PIL.Image.Resampling has them.
enum class Filter : int { nearest = 0, bilinear = 2, bicubic = 3 };

// Fractional bits of a weight: 8 bits of pixel and 2 bits of head room are left of an int32.
inline constexpr int kWeightBits = 32 - 8 - 2;
// One half, so that the shift by kWeightBits rounds.
inline constexpr int32_t kWeightHalf = 1 << (kWeightBits - 1);

// Input pixels [first, last).
struct Span {
  int first, last;
};

// The input pixels that make output pixel `index` of a resize from in_size to out_size (bilinear or bicubic).
Span tap_span(int in_size, int out_size, Filter filter, int index);

// Weights as a SIMD path wants them in its registers.
struct alignas(64) WeightLanes {
  union {
    int16_t words[32];
    uint32_t fours[16];  // each four bytes
  };
};

// The weights of one axis.
struct Taps {
  int in_size = 0;
  int out_size = 0;
  Filter filter = Filter::nearest;
  // Weights kept for an output: the largest count, rounded up to an even number; those beyond its count are 0.
  int stride = 0;
  // First input pixel of each output.
  std::vector<int32_t> first;
  // Number of input pixels of each output.
  std::vector<int32_t> count;
  // out_size x stride weights.
  std::vector<int32_t> weights;
  // The weights rearranged by a SIMD path for its horizontal pass, for groups of outputs that begin at `lanes_phase`
  // (-1: not made yet).
  std::vector<WeightLanes> lanes;
  int lanes_phase = -1;

  const int32_t* weights_of(int index) const { return weights.data() + static_cast<size_t>(index) * stride; }
};

// Fills `taps` for a resize from in_size to out_size. Keeps the capacity of its vectors.
void make_taps(int in_size, int out_size, Filter filter, Taps& taps);

}  // namespace headrace
