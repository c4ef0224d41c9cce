#include "kernel/encoded.h"

#include "io/cached_ranges.h"

namespace headrace {

Outcome encoded_bytes(const JpegInputs& jpegs, size_t index, Workspace& workspace, std::span<const uint8_t>& bytes) {
  const auto size = static_cast<size_t>(jpegs.sizes[index]);
  if (jpegs.ranges == nullptr) {
    bytes = {reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(jpegs.addresses[index])), size};
    return {};
  }
  uint8_t* copied = workspace.encoded.reserve(size);
  if (!jpegs.ranges->copy(index, copied)) return {.status = Status::unread};
  bytes = {copied, size};
  return {};
}

}  // namespace headrace
