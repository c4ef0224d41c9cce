// Is a JPEG file whole?
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace {

// Whether an end-of-image marker is in the entropy-coded data of `size` bytes; it is looked for from the end, bytes
// behind it do not matter. Inside entropy-coded data the marker cannot turn up by chance: 0xff is escaped there.
bool has_end_marker(const uint8_t* scan, size_t size);

}  // namespace headrace
