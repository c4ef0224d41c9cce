// Members joined to samples by the grouping rule of docs/design/shards.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tar/scan.h"

namespace headrace::tar {

struct SplitName {
  std::string_view key;
  std::string_view field;  // not lower-cased yet
};

// Key and field of a member's name, split at the first dot of its base name; nothing where it is no sample's.
std::optional<SplitName> split_name(std::string_view name);

enum class ContentKind : uint8_t { kDuplicate, kReserved, kUnresolved, kUnsupported };

// A fault of one sample in a shard whose headers are sound.
struct ContentFault {
  ContentKind kind;
  uint32_t sample;
  uint32_t member;  // in the order of the shard
  std::string text;
};

// Members sorted by sample; samples in the order in which the shard names them first.
struct Samples {
  std::vector<uint32_t> starts{0};  // samples + 1, into the next three
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> sizes;
  std::vector<uint32_t> field_ids;
  std::string keys;
  std::vector<uint64_t> key_starts{0};
  std::vector<std::string> fields;
  std::vector<ContentFault> faults;
  // First sample whose members lie apart, where there is one.
  std::optional<uint32_t> interleaved;

  size_t count() const { return starts.size() - 1; }
};

Samples group(const Members& members);

}  // namespace headrace::tar
