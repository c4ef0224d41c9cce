#include "jpeg/end_marker.h"

namespace headrace {

bool has_end_marker(const uint8_t* scan, size_t size) {
  constexpr uint8_t kPrefix = 0xff, kEnd = 0xd9;
  for (size_t i = size; i >= 2; --i) {
    if (scan[i - 1] == kEnd && scan[i - 2] == kPrefix) return true;
  }
  return false;
}

}  // namespace headrace
