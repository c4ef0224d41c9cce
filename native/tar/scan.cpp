#include "tar/scan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "tar/header.h"
#include "tar/pax.h"
#include "tar/window.h"

namespace headrace::tar {

namespace {

constexpr uint64_t kLargestName = 64 * 1024;
constexpr uint64_t kLargestExtension = uint64_t{1} << 20;
constexpr uint64_t kProgressBytes = uint64_t{64} << 20;
constexpr size_t kProgressMembers = 1 << 14;
constexpr size_t kMostMembers = std::numeric_limits<uint32_t>::max() - 1;

uint64_t padded(uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

// What extended headers say about the member that follows them.
struct Extended {
  PaxRecords pax;
  std::optional<std::string> long_name;
  std::optional<std::string> long_target;
  bool pending = false;
};

class Scanner {
 public:
  Scanner(Source& source, const ScanProgress& progress) : source_(source), progress_(progress), window_(source) {}

  Scan run() {
    if (check_start()) {
      while (step()) {
      }
    }
    return std::move(scan_);
  }

 private:
  bool fail(FaultKind kind, uint64_t offset, std::string text) {
    const int error_number = window_.error_number();
    if (error_number != 0) {
      scan_.fault = {FaultKind::kReadError, offset, error_number, "cannot be read"};
    } else {
      scan_.fault = {kind, offset, 0, std::move(text)};
    }
    return false;
  }

  bool check_start() {
    const uint64_t size = source_.size();
    if (size == 0) return fail(FaultKind::kNotATar, 0, "is empty (0 bytes)");
    const size_t num_bytes = static_cast<size_t>(std::min<uint64_t>(size, kBlock));
    const uint8_t* first = window_.at(0, num_bytes);
    if (first == nullptr) return fail(FaultKind::kTruncated, 0, "became shorter while it was read");
    if (size < kBlock) {
      const bool has_magic = size >= 262 && std::memcmp(first + 257, "ustar", 5) == 0;
      if (has_magic || is_zero(first, num_bytes)) return fail(FaultKind::kTruncated, 0, "ends inside its first header");
      return fail(FaultKind::kNotATar, 0, "is not a tar");
    }
    if (!is_zero(first, kBlock) && !checksum_holds(first)) return fail(FaultKind::kNotATar, 0, "is not a tar");
    scan_.num_archives = 1;
    return true;
  }

  // One header with its data, or the end of an archive. False: the scan is over.
  bool step() {
    const uint8_t* block = window_.at(at_, kBlock);
    if (block == nullptr) return fail_at_end();
    if (is_zero(block, kBlock)) return end_archive();
    if (!checksum_holds(block)) return fail(FaultKind::kCorrupt, at_, "a header's checksum is wrong");
    report_progress();
    const Header header{block};
    switch (header.type()) {
      case 'x':
      case 'X':
        return read_pax(header, extended_.pax);
      case 'g':
        return read_global(header);
      case 'L':
        return read_long(header, extended_.long_name);
      case 'K':
        return read_long(header, extended_.long_target);
      default:
        return add_member(header);
    }
  }

  bool fail_at_end() {
    if (at_ >= source_.size()) {
      return fail(FaultKind::kTruncated, source_.size(), "ends without its end-of-archive blocks");
    }
    return fail(FaultKind::kTruncated, at_, "ends inside a header");
  }

  void report_progress() {
    if (!progress_ || (at_ < next_report_ && scan_.members.count() < next_count_)) return;
    next_report_ = at_ + kProgressBytes;
    next_count_ = scan_.members.count() + kProgressMembers;
    progress_(at_);
  }

  // Data of an extension block; null after a fault.
  const uint8_t* extension_data(const Header& header, uint64_t largest, uint64_t& size) {
    const auto stated = header.size();
    if (!stated || *stated > largest) {
      fail(FaultKind::kCorrupt, at_, "an extended header has a size that is malformed or too large");
      return nullptr;
    }
    size = *stated;
    const uint8_t* data = window_.at(at_ + kBlock, static_cast<size_t>(padded(size)));
    if (data == nullptr) {
      fail(FaultKind::kTruncated, at_, "ends inside an extended header");
      return nullptr;
    }
    at_ += kBlock + padded(size);
    extended_.pending = true;
    return data;
  }

  bool read_pax(const Header& header, PaxRecords& records) {
    const uint64_t header_at = at_;
    uint64_t size = 0;
    const uint8_t* data = extension_data(header, kLargestExtension, size);
    if (data == nullptr) return false;
    const std::string_view block(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
    if (!parse_pax(block, records)) return fail(FaultKind::kCorrupt, header_at, "a PAX header is malformed");
    return true;
  }

  // Comments and the like are fine for a whole archive; one name or size for all members is an attack or a mistake.
  bool read_global(const Header& header) {
    const uint64_t header_at = at_;
    const bool was_pending = extended_.pending;
    PaxRecords records;
    if (!read_pax(header, records)) return false;
    extended_.pending = was_pending;
    if (records.path || records.link_target || records.size || records.sparse) {
      return fail(FaultKind::kUnsupported, header_at, "a global PAX header sets a name or size for every member");
    }
    return true;
  }

  bool read_long(const Header& header, std::optional<std::string>& name) {
    uint64_t size = 0;
    const uint8_t* data = extension_data(header, kLargestName, size);
    if (data == nullptr) return false;
    const char* text = reinterpret_cast<const char*>(data);
    name.emplace(text, strnlen(text, static_cast<size_t>(size)));
    return true;
  }

  bool add_member(const Header& header) {
    const char type = header.type();
    if (type == 'S' || extended_.pax.sparse) return fail(FaultKind::kUnsupported, at_, "holds a sparse member");
    if (type == 'M' || type == 'N') {
      return fail(FaultKind::kUnsupported, at_, std::string("holds a member of type '") + type + "'");
    }
    auto size = extended_.pax.size ? extended_.pax.size : header.size();
    if (!size) return fail(FaultKind::kCorrupt, at_, "a member has a size that is malformed or negative");
    const uint64_t data_at = at_ + kBlock;
    const bool has_data = std::strchr("123456", type) == nullptr || type == '\0';
    if (!has_data) size = 0;
    // Compared without adding: a hostile size must not wrap around.
    if (*size > source_.size() - data_at || padded(*size) > source_.size() - data_at) {
      push(header, data_at, 0);
      scan_.members.types.back() = MemberType::kCut;
      return fail(FaultKind::kTruncated, at_, "ends inside the data or padding of a member");
    }
    if (scan_.members.count() >= kMostMembers) {
      return fail(FaultKind::kUnsupported, at_, "has more than 2^32 members");
    }
    push(header, data_at, *size);
    at_ = data_at + padded(*size);
    extended_ = Extended{};
    return true;
  }

  void push(const Header& header, uint64_t data_at, uint64_t size) {
    Members& members = scan_.members;
    const size_t name_at = members.names.size();
    if (extended_.pax.path) {
      members.names += *extended_.pax.path;
    } else if (extended_.long_name) {
      members.names += *extended_.long_name;
    } else {
      header.append_name(members.names);
    }
    members.name_starts.push_back(members.names.size());
    const bool slash_at_end = members.names.size() > name_at && members.names.back() == '/';
    const MemberType type = member_type(header.type(), slash_at_end);
    if (type == MemberType::kHardLink || type == MemberType::kSymbolicLink) push_target(header);
    members.offsets.push_back(data_at);
    members.sizes.push_back(size);
    members.types.push_back(type);
  }

  void push_target(const Header& header) {
    Members& members = scan_.members;
    if (extended_.pax.link_target) {
      members.targets += *extended_.pax.link_target;
    } else if (extended_.long_target) {
      members.targets += *extended_.long_target;
    } else {
      header.append_link_target(members.targets);
    }
    members.target_starts.push_back(members.targets.size());
    members.links.push_back(static_cast<uint32_t>(members.count()));
  }

  static MemberType member_type(char type, bool slash_at_end) {
    switch (type) {
      case '0':
      case '\0':
      case '7':
        return slash_at_end ? MemberType::kDirectory : MemberType::kFile;
      case '1':
        return MemberType::kHardLink;
      case '2':
        return MemberType::kSymbolicLink;
      case '5':
      case 'V':  // a volume label, no file either
      case 'D':
        return MemberType::kDirectory;
      default:
        return MemberType::kOther;
    }
  }

  // At a block of zeros: a second one must follow; after them only zeros or another archive.
  bool end_archive() {
    if (extended_.pending) return fail(FaultKind::kCorrupt, at_, "an extended header is followed by no member");
    const uint8_t* second = window_.at(at_ + kBlock, kBlock);
    if (second == nullptr) return fail(FaultKind::kTruncated, at_, "ends after one of its two end-of-archive blocks");
    if (!is_zero(second, kBlock)) return fail(FaultKind::kCorrupt, at_, "a lone block of zeros lies between members");
    at_ += 2 * kBlock;
    if (!skip_zeros()) return false;
    scan_.num_archives += 1;
    return true;
  }

  // False at the end of the file (no fault) and at bytes that are no header (fault).
  bool skip_zeros() {
    while (at_ < source_.size()) {
      const size_t num_bytes = static_cast<size_t>(std::min<uint64_t>(source_.size() - at_, kZeroRun));
      const uint8_t* bytes = window_.at(at_, num_bytes);
      if (bytes == nullptr) return fail(FaultKind::kTruncated, at_, "became shorter while it was read");
      if (is_zero(bytes, num_bytes)) {
        at_ += num_bytes;
        continue;
      }
      const size_t nonzero =
          static_cast<size_t>(std::find_if(bytes, bytes + num_bytes, [](uint8_t b) { return b != 0; }) - bytes);
      at_ += nonzero / kBlock * kBlock;
      const uint8_t* block = window_.at(at_, kBlock);
      if (block != nullptr && checksum_holds(block)) return true;
      return fail(FaultKind::kCorrupt, at_, "has bytes after its end-of-archive blocks that are no archive");
    }
    return false;
  }

  static constexpr uint64_t kZeroRun = 64 * 1024;

  Source& source_;
  const ScanProgress& progress_;
  Window window_;
  Scan scan_;
  Extended extended_;
  uint64_t at_ = 0;
  uint64_t next_report_ = kProgressBytes;
  size_t next_count_ = kProgressMembers;
};

}  // namespace

Scan scan(Source& source, const ScanProgress& progress) { return Scanner(source, progress).run(); }

}  // namespace headrace::tar
