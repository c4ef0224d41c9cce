// Integer hashing: the finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
// generators"). The same numbers as headrace._base.hashing.
#pragma once
#include <cstdint>

namespace headrace {

// A bijection of the 64-bit integers whose every output bit depends on every input bit.
inline uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The hash of a sequence of integers, continued by one more of them.
inline uint64_t fold(uint64_t state, uint64_t part) { return mix64((state ^ part) + 0x9E3779B97F4A7C15); }

}  // namespace headrace
