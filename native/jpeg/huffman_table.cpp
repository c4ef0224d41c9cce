#include "jpeg/huffman_table.h"

#include <algorithm>
#include <cstring>

namespace headrace {

void HuffmanTable::load(const JHUFF_TBL& table, bool is_dc) {
  static_assert(sizeof table.bits == sizeof lengths_ && sizeof table.huffval == sizeof symbols_);
  if (is_loaded_ && is_dc == is_dc_ && std::memcmp(table.bits, lengths_.data(), sizeof lengths_) == 0 &&
      std::memcmp(table.huffval, symbols_.data(), sizeof symbols_) == 0) {
    // Making this table takes as long as it saves in one image: it pays where images share their codes.
    if (!is_dc_ && !has_skips_) make_skips();
    return;
  }
  if (has_skips_) skips_.fill({});
  has_skips_ = false;
  std::memcpy(lengths_.data(), table.bits, sizeof lengths_);
  std::memcpy(symbols_.data(), table.huffval, sizeof symbols_);
  is_dc_ = is_dc;
  short_codes_.fill({});
  uint32_t code = 0, symbol = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    first_code_[length] = code;
    num_codes_[length] = lengths_[length];
    first_symbol_[length] = symbol;
    for (uint32_t i = 0; i < num_codes_[length] && symbol < symbols_.size(); ++i, ++code, ++symbol) {
      if (length <= kLookupBits) fill_short_codes(length, code, symbols_[symbol]);
    }
  }
  is_loaded_ = true;
}

void HuffmanTable::make_skips() {
  for (size_t i = 0; i < skips_.size(); ++i) skips_[i] = skip_of(uint64_t{i} << (64 - kSkipBits));
  has_skips_ = true;
}

HuffmanSkip HuffmanTable::skip_of(uint64_t bits) const {
  HuffmanSkip skip = {.total = 0, .before = 0, .advance = 0};
  while (skip.total < kSkipBits) {
    const HuffmanEntry entry = short_codes_[(bits << skip.total) >> (64 - kLookupBits)];
    const int length = entry.total - entry.size;
    if (entry.total == 0 || skip.total + length > kSkipBits) break;
    skip.before = static_cast<uint8_t>(skip.advance);
    skip.advance = static_cast<uint16_t>(skip.advance + entry.run + 1);
    skip.total = static_cast<uint8_t>(skip.total + entry.total);
    if (entry.run == kEndOfBlock) break;
  }
  return skip;
}

HuffmanEntry HuffmanTable::entry_of(uint8_t symbol, int length) const {
  const int size = symbol & 15;  // libjpeg refuses DC symbols over 15
  uint16_t run = is_dc_ ? 0 : symbol >> 4;
  if (!is_dc_ && size == 0 && run < 15) run = kEndOfBlock;
  return {.total = static_cast<uint8_t>(length + size), .size = static_cast<uint8_t>(size), .run = run};
}

void HuffmanTable::fill_short_codes(int length, uint32_t code, uint8_t symbol) {
  const size_t span = size_t{1} << (kLookupBits - length), first = code * span;
  if (first + span > short_codes_.size()) return;  // more code words than bits allow: libjpeg has refused such a table
  std::fill_n(short_codes_.begin() + static_cast<ptrdiff_t>(first), span, entry_of(symbol, length));
}

HuffmanEntry HuffmanTable::find_long(uint64_t bits) const {
  for (int length = kLookupBits + 1; length <= 16; ++length) {
    const uint32_t number = static_cast<uint32_t>(bits >> (64 - length)) - first_code_[length];
    if (number < num_codes_[length]) return entry_of(symbols_[(first_symbol_[length] + number) & 255], length);
  }
  return {.total = 0, .size = 0, .run = kBadCode};
}

}  // namespace headrace
