// A batch: N images through one geometry into rows of one array.
#pragma once
#include <cstdint>
#include <vector>

#include "kernel/geometry.h"
#include "kernel/report.h"
#include "pool/pool.h"

namespace headrace {

namespace io {
class CachedRanges;
}

// Where the rows go: (rows, 3, height, width), or (rows, height, width, 3), C-contiguous.
struct Destination {
  uint8_t* data;
  int height, width;
  bool channels_last;
  int element_size;     // 1, 2 or 4
  const void* lut;      // (3, 256) elements, or null to copy bytes
  const int64_t* rows;  // the row of each image, no row twice; null: image i is row i
};

// What is known of each image beside its bytes. Null where all rows are left to the draws.
struct RowInputs {
  const uint64_t* keys;
  const int32_t* boxes;  // (images, 4)
  const uint8_t* flips;
};

struct JpegInputs {
  size_t count;
  const uint64_t* addresses;  // null where there are ranges
  const uint64_t* sizes;
  const io::CachedRanges* ranges = nullptr;  // each thread copies what it decodes
};

// RGB pixels, `strides` bytes from row to row.
struct PixelInputs {
  size_t count;
  const uint64_t* addresses;
  const int32_t* heights;
  const int32_t* widths;
  const int64_t* strides;
};

// Each returns false, having done nothing, when the pool is closed.
bool run_jpegs(Pool& pool, const Geometry& geometry, const JpegInputs& jpegs, const RowInputs& inputs,
               const Destination& destination, Report& report);
bool run_pixels(Pool& pool, const Geometry& geometry, const PixelInputs& pixels, const RowInputs& inputs,
                const Destination& destination, Report& report);

// One of several views of the same images: where its rows go, and what becomes of them.
struct View {
  const Geometry* geometry;
  RowInputs inputs;
  Destination destination;
  Report* report;
};

// Views of JPEGs, each as run_jpegs makes it, from one decoding of an image where that costs less than one each. All
// geometries have the same limits and orientation.
bool run_views(Pool& pool, const JpegInputs& jpegs, const std::vector<View>& views);

}  // namespace headrace
