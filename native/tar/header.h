// One 512-byte header block (POSIX.1-1988 ustar, GNU and v7 forms).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace headrace::tar {

inline constexpr size_t kBlock = 512;

// Unsigned number of a header field: octal digits, or big-endian base 256 where the first bit is set.
// Nothing where the field is malformed, negative, or does not fit into 63 bits.
std::optional<uint64_t> parse_number(const uint8_t* field, size_t width);

// Whether the stored checksum is the sum of the block's bytes, taken as unsigned or (old writers) as signed.
bool checksum_holds(const uint8_t* block);

bool is_zero(const uint8_t* bytes, size_t num_bytes);

struct Header {
  const uint8_t* block;

  char type() const { return static_cast<char>(block[156]); }
  std::optional<uint64_t> size() const { return parse_number(block + 124, 12); }
  // The name with its ustar prefix; GNU headers keep other things where the prefix would be.
  void append_name(std::string& to) const;
  void append_link_target(std::string& to) const;
  bool has_ustar_magic() const;
};

}  // namespace headrace::tar
