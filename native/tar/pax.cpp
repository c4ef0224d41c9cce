#include "tar/pax.h"

namespace headrace::tar {

namespace {

constexpr uint64_t kLargest = (uint64_t{1} << 63) - 1;

std::optional<uint64_t> parse_decimal(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (value > (kLargest - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

// An empty value takes the record back, as POSIX says.
bool take_name(std::string_view value, std::optional<std::string>& name) {
  if (value.find('\0') != std::string_view::npos) return false;
  if (value.empty()) {
    name.reset();
  } else {
    name.emplace(value);
  }
  return true;
}

bool take_record(std::string_view keyword, std::string_view value, PaxRecords& records) {
  if (keyword == "path") return take_name(value, records.path);
  if (keyword == "linkpath") return take_name(value, records.link_target);
  if (keyword == "size") {
    records.size = parse_decimal(value);
    return value.empty() || records.size.has_value();
  }
  if (keyword.starts_with("GNU.sparse.")) records.sparse = true;
  return true;
}

}  // namespace

bool parse_pax(std::string_view block, PaxRecords& records) {
  while (!block.empty() && block.front() != '\0') {
    const size_t blank = block.find(' ');
    if (blank == std::string_view::npos) return false;
    const auto length = parse_decimal(block.substr(0, blank));
    if (!length || *length > block.size() || *length < blank + 3) return false;
    const std::string_view record = block.substr(blank + 1, static_cast<size_t>(*length) - blank - 1);
    const size_t equals = record.find('=');
    if (record.back() != '\n' || equals == std::string_view::npos || equals == 0) return false;
    if (!take_record(record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2), records)) {
      return false;
    }
    block.remove_prefix(static_cast<size_t>(*length));
  }
  return true;
}

}  // namespace headrace::tar
