// libjpeg as its manual says, with nothing of ours but the errors: what a partial decode is held against.
#pragma once
#include <vector>

#include "jpeg/failure.h"
#include "jpeg/memory_source.h"

namespace headrace {

// All columns of the first rows of an image at 1/scale, RGBX. `run` is false where libjpeg gives up or warns.
class PlainDecode {
 public:
  PlainDecode() {
    cinfo_.err = failure_.manager();
    cinfo_.client_data = &failure_;
  }
  ~PlainDecode() { jpeg_destroy_decompress(&cinfo_); }
  PlainDecode(const PlainDecode&) = delete;
  PlainDecode& operator=(const PlainDecode&) = delete;

  bool run(const uint8_t* data, size_t size, int scale, int num_rows) {
    const bool started = failure_.guard([&] {
      jpeg_create_decompress(&cinfo_);
      cinfo_.src = source_.manager();
      source_.set(data, size);
      jpeg_read_header(&cinfo_, TRUE);
      cinfo_.out_color_space = JCS_EXT_RGBX;
      cinfo_.scale_denom = static_cast<unsigned>(scale);
      jpeg_start_decompress(&cinfo_);
    });
    if (!started) return false;
    pixels_.resize(stride() * static_cast<size_t>(num_rows));
    const bool read = failure_.guard([&] {
      while (cinfo_.output_scanline < static_cast<JDIMENSION>(num_rows)) {
        JSAMPROW row = pixels_.data() + stride() * cinfo_.output_scanline;
        jpeg_read_scanlines(&cinfo_, &row, 1);
      }
    });
    return read && failure_.num_warnings() == 0;
  }

  const uint8_t* pixel(int x, int y) const {
    return pixels_.data() + stride() * static_cast<size_t>(y) + 4 * static_cast<size_t>(x);
  }

 private:
  size_t stride() const { return size_t{4} * cinfo_.output_width; }

  Failure failure_;
  MemorySource source_;
  jpeg_decompress_struct cinfo_ = {};
  std::vector<uint8_t> pixels_;
};

}  // namespace headrace
