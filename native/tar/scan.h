// Where every member of a tar lies, from its headers alone. The format's rules and the faults are those of
// docs/design/shards.md.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tar/source.h"

namespace headrace::tar {

enum class FaultKind : uint8_t { kNone, kNotATar, kTruncated, kCorrupt, kUnsupported, kReadError };

struct Fault {
  FaultKind kind = FaultKind::kNone;
  uint64_t offset = 0;  // byte of the shard at which the fault lies
  int error_number = 0;
  std::string text;
};

// kCut: the last one of a scan that ended inside its data. Its name shows where the sample before it ended.
enum class MemberType : uint8_t { kFile, kHardLink, kSymbolicLink, kDirectory, kOther, kCut };

// Members in the order of the shard, as flat columns.
struct Members {
  std::vector<uint64_t> offsets;  // of the data
  std::vector<uint64_t> sizes;    // of the data; 0 for what is no file
  std::vector<MemberType> types;
  std::string names;
  std::vector<uint64_t> name_starts{0};
  std::string targets;  // of links, one after another
  std::vector<uint64_t> target_starts{0};
  std::vector<uint32_t> links;  // members that are links, in order

  size_t count() const { return types.size(); }
  std::string_view name(size_t i) const {
    return std::string_view(names).substr(name_starts[i], name_starts[i + 1] - name_starts[i]);
  }
  std::string_view target(size_t link) const {
    return std::string_view(targets).substr(target_starts[link], target_starts[link + 1] - target_starts[link]);
  }
};

struct Scan {
  Members members;
  uint64_t num_archives = 0;  // archives one after another in the file
  Fault fault;                // kNone: the whole file is well-formed
};

// Called now and then with the offset reached; may throw to end the scan.
using ScanProgress = std::function<void(uint64_t)>;

// Reads headers only. What was read before a fault is kept. Memory grows with the headers that are really there
// (names are limited to 64 KiB, extended headers to 1 MiB), never with a number that the file claims.
Scan scan(Source& source, const ScanProgress& progress = nullptr);

}  // namespace headrace::tar
