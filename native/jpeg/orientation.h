// The EXIF orientation (1 to 8) of a photograph, as PIL.ImageOps.exif_transpose sees it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace headrace {

// The orientation in an APP1 segment that holds EXIF (TIFF tag 0x0112; TIFF 6.0, section 2; Exif 2.32, section 4.5.4);
// 1 where the tag has no usable value, nothing where this is no EXIF or the tag is not in it.
std::optional<int> exif_orientation(const uint8_t* segment, size_t size);

// The orientation in an APP1 segment that holds XMP (`tiff:Orientation`; XMP specification part 3, section 1.1.3).
std::optional<int> xmp_orientation(const uint8_t* segment, size_t size);

}  // namespace headrace
