#include "jpeg/orientation.h"

#include <string_view>

namespace headrace {
namespace {

constexpr std::string_view kExif{"Exif\0\0", 6};
constexpr std::string_view kXmp{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr int kTagOrientation = 0x0112;

// Integers of a TIFF block in its own byte order; the caller checks the bounds.
class TiffReader {
 public:
  TiffReader(const uint8_t* data, bool big_endian) : data_(data), big_endian_(big_endian) {}

  uint32_t read(size_t offset, int num_bytes) const {
    uint32_t value = 0;
    for (int i = 0; i < num_bytes; ++i) {
      value |= uint32_t{data_[offset + i]} << 8 * (big_endian_ ? num_bytes - 1 - i : i);
    }
    return value;
  }

 private:
  const uint8_t* data_;
  bool big_endian_;
};

int valid_or_upright(uint32_t value) { return value >= 1 && value <= 8 ? static_cast<int>(value) : 1; }

// Bytes of an integer of this TIFF type; 0 where it is none, or one that Pillow does not take for a number.
int integer_size(uint32_t type) {
  switch (type) {
    case 6:  // SBYTE
      return 1;
    case 3:  // SHORT
    case 8:  // SSHORT
      return 2;
    case 4:  // LONG
    case 9:  // SLONG
      return 4;
    default:
      return 0;
  }
}

// The first value of an entry; four bytes of values are in it, more are somewhere else.
int entry_orientation(const TiffReader& tiff, size_t size, size_t entry) {
  const int value_size = integer_size(tiff.read(entry + 2, 2));
  const uint64_t count = tiff.read(entry + 4, 4);
  if (value_size == 0 || count == 0) return 1;
  const uint64_t num_bytes = count * static_cast<uint64_t>(value_size);
  const size_t at = num_bytes <= 4 ? entry + 8 : tiff.read(entry + 8, 4);
  return at + num_bytes <= size ? valid_or_upright(tiff.read(at, value_size)) : 1;
}

}  // namespace

std::optional<int> exif_orientation(const uint8_t* segment, size_t size) {
  if (size < kExif.size() + 8 || std::string_view(reinterpret_cast<const char*>(segment), kExif.size()) != kExif) {
    return std::nullopt;
  }
  const uint8_t* data = segment + kExif.size();
  size -= kExif.size();
  const bool big_endian = data[0] == 'M' && data[1] == 'M';
  if (!big_endian && !(data[0] == 'I' && data[1] == 'I')) return std::nullopt;
  const TiffReader tiff(data, big_endian);
  const size_t directory = tiff.read(4, 4);
  if (directory + 2 > size) return std::nullopt;
  const uint32_t num_entries = tiff.read(directory, 2);
  for (uint32_t i = 0; i < num_entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (entry + 12 > size) break;
    if (tiff.read(entry, 2) == kTagOrientation) return entry_orientation(tiff, size, entry);
  }
  return std::nullopt;
}

std::optional<int> xmp_orientation(const uint8_t* segment, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(segment), size);
  if (!text.starts_with(kXmp)) return std::nullopt;
  constexpr std::string_view kName = "tiff:Orientation";
  for (size_t at = text.find(kName, kXmp.size()); at != text.npos; at = text.find(kName, at + 1)) {
    std::string_view rest = text.substr(at + kName.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return valid_or_upright(rest[0] - '0');
  }
  return std::nullopt;
}

}  // namespace headrace
