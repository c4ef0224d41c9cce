// Whole numbers as decimal text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace headrace::text {

// The number that these bytes hold, or nothing where they are not plainly one: ASCII white space, a sign or none, one
// to 18 digits, white space. What is stranger than that is for Python to judge.
std::optional<int64_t> parse_integer(const uint8_t* data, size_t size);

}  // namespace headrace::text
