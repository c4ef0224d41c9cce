// The last pass: pixels into the rows of a batch.
#pragma once
#include "resample/resample.h"
#include "resample/simd.h"

namespace headrace {

// Writes width x height pixels into `out`, C-contiguous: three planes (3, height, width), or (height, width, 3) where
// `channels_last` is set; mirrored from left to right where `flip` is set.
///
// `element_size` is 1, 2 or 4 bytes. `lut`, of shape (3, 256) and with elements of that size, maps every channel value;
// null copies the values, for 1-byte elements alone. Elements are only moved, so any type of that size will do.
void lay_out(const Pixels& src, int width, int height, bool flip, bool channels_last, int element_size, const void* lut,
             void* out, const SimdPath& path = best_path());

}  // namespace headrace
