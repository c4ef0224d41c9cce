// A JPEG decoder that is used again and again: libjpeg-turbo, whole images or only what a crop needs.
#pragma once
#include "jpeg/baseline_scan.h"
#include "jpeg/failure.h"
#include "jpeg/libjpeg.h"
#include "jpeg/limits.h"
#include "jpeg/memory_source.h"
#include "jpeg/outcome.h"
#include "jpeg/surface.h"
#include "resample/resample.h"

namespace headrace {

struct Header {
  int width = 0, height = 0;  // as stored, before any EXIF orientation
  int components = 0;
  bool progressive = false;
  int orientation = 1;  // EXIF; 1 where it was not asked for
};

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Reads the headers of a file and holds them against the limits. The bytes must stay until it has been read.
  Outcome open(const uint8_t* data, size_t size, bool read_orientation, const DecodeLimits& limits);

  const Header& header() const { return header_; }

  // Decodes at 1/scale size (1, 2, 4, 8) what covers `region`, in coordinates of the scaled image, as RGBX. `pixels`
  // then points at the region's first pixel in `surface`. These are the pixels of a full decode, to the last bit;
  // what lies below the region is not looked at. Once after each `open`.
  Outcome read(Window region, int scale, Surface& surface, Pixels& pixels);

  // Decodes the whole image as packed RGB and reads to the end of the file. Once after each `open`.
  Outcome read_all(uint8_t* out);

  // Width or height of an image at 1/scale.
  static int scaled(int length, int scale) { return (length + scale - 1) / scale; }

 private:
  struct ScanLimit : jpeg_progress_mgr {
    int scans;
  };

  static void check_scans(j_common_ptr cinfo);
  void create();
  Outcome read_headers();
  int stored_orientation() const;
  Outcome judge_headers(const DecodeLimits& limits) const;
  Outcome read_region(const Window& region, int scale, bool own_scan, Surface& surface, Pixels& pixels);
  bool read_all_rows(uint8_t* out, bool own_scan);
  int64_t coefficient_bytes() const;
  Outcome check_end();
  void start(J_COLOR_SPACE colors, int scale);
  bool smooths_blocks() const;
  int crop_columns(const Window& region);
  void restrict_scan(int first_column);
  void read_rows(uint8_t* out, size_t stride, int num_rows);

  Failure failure_;
  MemorySource source_;
  BaselineScan scan_;
  ScanLimit scan_limit_ = {};
  jpeg_decompress_struct cinfo_ = {};
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  bool read_orientation_ = false;
  long max_memory_ = 0;  // 0: no limit
  Header header_;
};

}  // namespace headrace
