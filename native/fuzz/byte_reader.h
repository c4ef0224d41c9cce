// The bytes of a fuzzed input, taken as numbers from the front.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace headrace {

// Past the end everything is 0, so that every input means something.
class ByteReader {
 public:
  ByteReader(const uint8_t* data, size_t size) : bytes_(data, size) {}

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return first;
  }

  bool flag() { return (byte() & 1) != 0; }

  // Of 1 to `most`, which is 256 at most.
  int count(int most) { return 1 + byte() % most; }

  // Mostly one byte; behind a byte of 250 and more all 64 bits, as no honest file has them.
  uint64_t number() {
    constexpr uint8_t kLarge = 250;
    const uint8_t first = byte();
    if (first < kLarge) return first;
    uint8_t raw[sizeof(uint64_t)];
    for (uint8_t& part : raw) part = byte();
    uint64_t value;
    std::memcpy(&value, raw, sizeof value);
    return value;
  }

  int64_t signed_number() { return static_cast<int64_t>(number()); }

  bool empty() const { return bytes_.empty(); }
  std::span<const uint8_t> rest() const { return bytes_; }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace headrace
