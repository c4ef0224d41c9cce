#include "text/integers.h"

namespace headrace::text {
namespace {

bool is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

}  // namespace

std::optional<int64_t> parse_integer(const uint8_t* data, size_t size) {
  constexpr ptrdiff_t kMostDigits = 18;
  const uint8_t* begin = data;
  const uint8_t* end = data + size;
  while (begin != end && is_space(*begin)) ++begin;
  while (begin != end && is_space(end[-1])) --end;
  const bool is_negative = begin != end && *begin == '-';
  if (begin != end && (*begin == '-' || *begin == '+')) ++begin;
  if (begin == end || end - begin > kMostDigits) return {};
  int64_t value = 0;
  for (; begin != end; ++begin) {
    if (*begin < '0' || *begin > '9') return {};
    value = 10 * value + (*begin - '0');
  }
  return is_negative ? -value : value;
}

}  // namespace headrace::text
