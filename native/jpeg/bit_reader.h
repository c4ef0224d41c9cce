// The bits of entropy-coded data (ITU-T T.81, section F.2.2.5): bytes, most significant bit first, where ff 00 stands
// for ff, up to the next marker.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headrace {

class BitReader {
 public:
  static constexpr int kRefilled = 56;  // bits that are there after a refill, at least

  BitReader() = default;
  BitReader(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

  // The bits, the next one on top. Past the end of the data they are zeros.
  uint64_t bits() const { return bits_; }

  void drop(int num) {
    bits_ <<= num;
    num_bits_ -= num;
  }

  // Eight bytes at once where none of them is ff.
  void refill() {
    if (end_ - next_ >= 8) {
      uint64_t word = 0;
      std::memcpy(&word, next_, sizeof word);
      word = big_endian(word);
      constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
      const bool has_ff = ((~word - kOnes) & word & kTops) != 0;
      if (!has_ff) {
        // Bits past the whole bytes that are counted come again with the next refill, and are the same.
        bits_ |= word >> num_bits_;
        const int num_bytes = (63 - num_bits_) >> 3;
        next_ += num_bytes;
        num_bits_ += 8 * num_bytes;
        return;
      }
    }
    *this = refilled_by_bytes(*this);
  }

  // Whether more bits were dropped than the data has.
  bool overdrawn() const { return num_bits_ < num_padding_; }

  // Whether the data ends here, but for less than a byte of padding, with this marker.
  bool ends_with(int marker) {
    *this = refilled_by_bytes(*this);
    const bool is_at_end = !overdrawn() && num_bits_ - num_padding_ < 8;
    return is_at_end && end_ - next_ >= 2 && next_[0] == 0xff && next_[1] == marker;
  }

  // Goes on behind the marker that ends the data.
  void pass_marker() { *this = BitReader(next_ + 2, static_cast<size_t>(end_ - next_ - 2)); }

 private:
  static uint64_t big_endian(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
  }

  bool is_at_marker() const {
    return end_ - next_ < 2 ? next_ == end_ || *next_ == 0xff : *next_ == 0xff && next_[1] != 0;
  }

  // By value: a reader whose address is never taken can live in registers.
  [[gnu::noinline]] static BitReader refilled_by_bytes(BitReader reader) {
    reader.bits_ &= ~(~uint64_t{0} >> reader.num_bits_);
    while (reader.num_bits_ < kRefilled) {
      uint64_t byte = 0;
      if (reader.is_at_marker()) {
        reader.num_padding_ += 8;
      } else {
        byte = *reader.next_;
        reader.next_ += byte == 0xff ? 2 : 1;
      }
      reader.bits_ |= byte << (kRefilled - reader.num_bits_);
      reader.num_bits_ += 8;
    }
    return reader;
  }

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t bits_ = 0;
  int num_bits_ = 0;     // counted bits in bits_
  int num_padding_ = 0;  // zeros that were put behind the data
};

}  // namespace headrace
