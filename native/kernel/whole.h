// Whole images, and headers alone.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "kernel/batch.h"

namespace headrace {

struct WholeImage {
  std::unique_ptr<uint8_t[]> pixels;  // RGB, packed; null where the row is not OK
  Size size = {0, 0};
};

// Decodes whole images, upright where `apply_exif` is set. Returns false, having done nothing, when the pool is closed.
bool decode_whole(Pool& pool, const JpegInputs& jpegs, bool apply_exif, const DecodeLimits& limits,
                  std::vector<WholeImage>& images, Report& report);

// Height, width (after EXIF where it is applied), components, progressive (0 or 1).
using Probe = std::array<int32_t, 4>;

// Reads the headers of each file, in the caller's thread; zeros where the status is not OK.
void probe_headers(const JpegInputs& jpegs, bool apply_exif, Probe* probes, uint8_t* status);

}  // namespace headrace
