#include "tar/header.h"

#include <cstring>

namespace headrace::tar {

namespace {

constexpr size_t kNameWidth = 100;
constexpr size_t kLinkOffset = 157;
constexpr size_t kMagicOffset = 257;
constexpr size_t kPrefixOffset = 345;
constexpr size_t kPrefixWidth = 155;
constexpr size_t kChecksumOffset = 148;
constexpr size_t kChecksumWidth = 8;
constexpr uint64_t kLargest = (uint64_t{1} << 63) - 1;

std::optional<uint64_t> parse_base256(const uint8_t* field, size_t width) {
  if (field[0] & 0x40) return std::nullopt;  // negative
  uint64_t value = field[0] & 0x3f;
  for (size_t i = 1; i < width; ++i) {
    if (value > (kLargest >> 8)) return std::nullopt;
    value = (value << 8) | field[i];
  }
  return value;
}

std::optional<uint64_t> parse_octal(const uint8_t* field, size_t width) {
  size_t i = 0;
  while (i < width && field[i] == ' ') ++i;
  uint64_t value = 0;  // at most 12 digits of 3 bits: no overflow
  for (; i < width && field[i] != ' ' && field[i] != 0; ++i) {
    if (field[i] < '0' || field[i] > '7') return std::nullopt;
    value = (value << 3) | static_cast<uint64_t>(field[i] - '0');
  }
  return value;
}

void append_field(std::string& to, const uint8_t* field, size_t width) {
  to.append(reinterpret_cast<const char*>(field), strnlen(reinterpret_cast<const char*>(field), width));
}

}  // namespace

std::optional<uint64_t> parse_number(const uint8_t* field, size_t width) {
  return (field[0] & 0x80) ? parse_base256(field, width) : parse_octal(field, width);
}

bool is_zero(const uint8_t* bytes, size_t num_bytes) {
  return num_bytes == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, num_bytes - 1) == 0);
}

bool checksum_holds(const uint8_t* block) {
  const auto stored = parse_number(block + kChecksumOffset, kChecksumWidth);
  if (!stored) return false;
  uint32_t sum = 0;
  uint32_t high_bytes = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    sum += block[i];
    high_bytes += block[i] >> 7;
  }
  for (size_t i = kChecksumOffset; i < kChecksumOffset + kChecksumWidth; ++i) {  // counted as blanks
    sum += ' ' - static_cast<uint32_t>(block[i]);
    high_bytes -= block[i] >> 7;
  }
  const int64_t as_signed = static_cast<int64_t>(sum) - 256 * static_cast<int64_t>(high_bytes);
  return *stored == sum || static_cast<int64_t>(*stored) == as_signed;
}

bool Header::has_ustar_magic() const { return std::memcmp(block + kMagicOffset, "ustar", 6) == 0; }

void Header::append_name(std::string& to) const {
  if (has_ustar_magic() && block[kPrefixOffset] != 0) {
    append_field(to, block + kPrefixOffset, kPrefixWidth);
    to.push_back('/');
  }
  append_field(to, block, kNameWidth);
}

void Header::append_link_target(std::string& to) const { append_field(to, block + kLinkOffset, kNameWidth); }

}  // namespace headrace::tar
