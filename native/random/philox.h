// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as
// 1, 2, 3"). The same numbers as headrace._base.hashing draws from the same key.
#pragma once
#include <array>
#include <cstdint>

namespace headrace {

// Philox4x32-10 of the counter (block, op, 0, 0).
inline std::array<uint32_t, 4> philox4x32(uint64_t key, uint32_t block, uint32_t op) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = block, c1 = op, c2 = 0, c3 = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = static_cast<uint32_t>(p1), c2 = n2, c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

// The random numbers of one sample.
class Stream {
 public:
  explicit Stream(uint64_t key) : key_(key) {}

  // Uniform number `index` of the op at position `op`: in [0, 1), a multiple of 2^-53.
  double uniform(uint32_t op, uint32_t index) const {
    const auto words = philox4x32(key_, index >> 1, op);
    const uint32_t first = words[index % 2 * 2], second = words[index % 2 * 2 + 1];
    return ((first >> 5) * 67108864.0 + (second >> 6)) * (1.0 / 9007199254740992.0);
  }

  // Uniform integer in [0, bound). The product is never rounded up to `bound`: that would take a number above
  // bound - ulp/2, and the largest one is bound * (1 - 2^-53).
  int below(int bound, uint32_t op, uint32_t index) const { return static_cast<int>(uniform(op, index) * bound); }

 private:
  uint64_t key_;
};

}  // namespace headrace
