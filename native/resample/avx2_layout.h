// Layout of rows on AVX2; AVX-512 has nothing to add here, as memory is the limit.
#pragma once
#include <cstdint>

namespace headrace {

// As SimdPath::split and SimdPath::pack.
void split_avx2(const uint8_t* row, int width, bool flip, uint8_t* red, uint8_t* green, uint8_t* blue);
void pack_avx2(const uint8_t* row, int width, bool flip, uint8_t* dst);

}  // namespace headrace
