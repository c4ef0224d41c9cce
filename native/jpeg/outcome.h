// What became of an image.
#pragma once
#include <cstdint>
#include <string>

namespace headrace {

enum class Status : uint8_t {
  ok = 0,
  unsupported = 1,  // not for this kernel: a general decoder's turn
  corrupt = 2,
  over_limit = 3,
  needs_full = 4,  // the file ends too early: whoever decodes it whole decides
  unread = 5,      // its bytes were to come from the page cache, and were not all there
};

struct Outcome {
  Status status = Status::ok;
  std::string message = {};

  bool ok() const { return status == Status::ok; }
};

}  // namespace headrace
