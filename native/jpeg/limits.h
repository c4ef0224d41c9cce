// Limits that are checked before memory is taken.
#pragma once
#include <cstdint>

namespace headrace {

struct DecodeLimits {
  int64_t pixels = int64_t{1} << 28;         // width x height
  int scans = 500;                           // of a progressive image
  int64_t decoder_bytes = int64_t{1} << 30;  // memory of one decoder beside the pixels
};

}  // namespace headrace
