// A Huffman code of a JPEG, ready for decoding (ITU-T T.81, annex C and section F.2.2).
#pragma once
#include <array>
#include <cstdint>

#include "jpeg/libjpeg.h"

namespace headrace {

// What one code word says: how many bits it and the value behind it take, and how far it moves in the block.
struct HuffmanEntry {
  uint8_t total;  // bits of the code word and of the value; 0: no short code word begins so
  uint8_t size;   // bits of the value
  uint16_t run;   // coefficients that are zero before the value
};

// What several code words in a row say where nobody asks for the values behind them.
struct HuffmanSkip {
  uint8_t total;     // bits of all code words and values; 0: not even one code word is known
  uint8_t before;    // how far all but the last move in the block
  uint16_t advance;  // how far all of them move in the block, each for its own coefficient too
};

class HuffmanTable {
 public:
  static constexpr int kLookupBits = 10;
  // Larger than any coefficient's number can get by adding runs, so that one comparison ends a block.
  static constexpr uint16_t kEndOfBlock = 256;
  // Leads past the end of a block without being its end.
  static constexpr uint16_t kBadCode = 100;
  static constexpr int kSkipBits = 12;

  // Takes over the code; quick where it is the one of the last image, as most are. `is_dc`: symbols are sizes alone.
  void load(const JHUFF_TBL& table, bool is_dc);

  // What begins with these bits, of which at least 16 are valid, the first one on top.
  HuffmanEntry find(uint64_t bits) const {
    const HuffmanEntry entry = short_codes_[bits >> (64 - kLookupBits)];
    return entry.total != 0 ? entry : find_long(bits);
  }

  // As many code words as these bits hold whole. Empty for a code that was not met twice.
  HuffmanSkip find_skip(uint64_t bits) const { return skips_[bits >> (64 - kSkipBits)]; }

 private:
  void make_skips();
  HuffmanSkip skip_of(uint64_t bits) const;
  HuffmanEntry entry_of(uint8_t symbol, int length) const;
  void fill_short_codes(int length, uint32_t code, uint8_t symbol);
  [[gnu::noinline]] HuffmanEntry find_long(uint64_t bits) const;

  std::array<HuffmanEntry, 1 << kLookupBits> short_codes_ = {};
  std::array<HuffmanSkip, 1 << kSkipBits> skips_ = {};
  // For each length: the first code word, how many there are, and the number of the first one's symbol.
  std::array<uint32_t, 17> first_code_ = {}, num_codes_ = {}, first_symbol_ = {};
  std::array<uint8_t, 17> lengths_ = {};
  std::array<uint8_t, 256> symbols_ = {};
  bool is_dc_ = false, is_loaded_ = false, has_skips_ = false;
};

}  // namespace headrace
