// Records of a PAX extended header (POSIX.1-2001): "<length> <keyword>=<value>\n".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::tar {

struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::string> link_target;
  std::optional<uint64_t> size;
  bool sparse = false;
};

// Takes over the records that say where a member lies and what it is called. False where the block is malformed,
// a name holds a NUL, or the size is no number that fits into 63 bits.
bool parse_pax(std::string_view block, PaxRecords& records);

}  // namespace headrace::tar
