// Whole numbers as text, of hostile bytes.
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "text/integers.h"

namespace headrace {
namespace {

// What C's library makes of the text, where all of it is a decimal number and white space.
std::optional<int64_t> by_the_library(const std::string& text) {
  if (text.find('\0') != std::string::npos) return {};
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno != 0) return {};
  if (text.find_first_not_of(" \t\n\v\f\r", static_cast<size_t>(end - text.c_str())) != std::string::npos) return {};
  return value;
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const auto number = text::parse_integer(data, size);
  const auto expected = by_the_library({reinterpret_cast<const char*>(data), size});
  promise(!number || number == expected, "a number is what the library reads");
  // 18 digits at most are ours: nothing beyond is, everything within is.
  constexpr int64_t kLargest = 999'999'999'999'999'999;
  promise(!number || (*number >= -kLargest && *number <= kLargest), "a number has 18 digits at most");
  return 0;
}
