// The filters of PNG, undone for images of one byte a pixel.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace {

// Undoes the filter of each of `height` rows of `width` bytes, each after a byte that names its filter (PNG, third
// edition, section 9), into `dst` without gaps. False where a row names a filter that does not exist.
bool unfilter(const uint8_t* filtered, size_t height, size_t width, uint8_t* dst);

}  // namespace headrace
