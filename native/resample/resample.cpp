#include "resample/resample.h"

#include <algorithm>
#include <cstring>

#include "resample/nearest.h"

namespace headrace {
namespace {

// The source, row by row of the whole image.
class Source {
 public:
  // `slack`: bytes that a horizontal pass may read past the end of a row.
  Source(const Pixels& pixels, Window region, size_t slack, std::vector<uint8_t>& padded)
      : pixels_(pixels), region_(region), padded_(padded) {
    const size_t size = row_bytes();
    const auto height = static_cast<size_t>(region.height);
    // The bytes after a row are those of the next ones; only the last rows may have too few of them.
    const size_t all = size + (height - 1) * static_cast<size_t>(pixels.stride);
    num_open_ = all < size + slack ? 0 : static_cast<int>((all - size - slack) / pixels.stride) + 1;
    if (padded_.size() < size + slack) padded_.resize(size + slack);
  }

  int bytes_per_pixel() const { return pixels_.bytes_per_pixel; }
  int left() const { return region_.left; }
  size_t row_bytes() const { return static_cast<size_t>(region_.width) * pixels_.bytes_per_pixel; }

  // Row y from column left() on.
  const uint8_t* row(int y) const { return pixels_.data + static_cast<ptrdiff_t>(y - region_.top) * pixels_.stride; }

  // The same, with `slack` bytes after its end that may be read; valid until the next call.
  const uint8_t* open_row(int y) const {
    if (y - region_.top < num_open_) return row(y);
    std::memcpy(padded_.data(), row(y), row_bytes());
    return padded_.data();
  }

 private:
  const Pixels& pixels_;
  Window region_;
  std::vector<uint8_t>& padded_;
  int num_open_;
};

// Where the result goes.
struct Target {
  uint8_t* data;
  ptrdiff_t stride;

  uint8_t* row(int y) const { return data + y * stride; }
};

size_t slack_of(const Taps& taps, int bytes_per_pixel) {
  return static_cast<size_t>(taps.stride + 4) * bytes_per_pixel + 16;
}

Taps& horizontal_taps(Scratch& scratch, int in_width, int out_width, Window out, Filter filter) {
  Taps& taps = scratch.taps(in_width, out_width, filter);
  if (scratch.path().arrange != nullptr) scratch.path().arrange(taps, out.left);
  return taps;
}

void copy_row(const uint8_t* row, int bytes_per_pixel, int width, uint8_t* dst) {
  if (bytes_per_pixel == 4) {
    std::memcpy(dst, row, static_cast<size_t>(width) * 4);
    return;
  }
  for (int x = 0; x < width; ++x, row += 3, dst += 4) {
    dst[0] = row[0];
    dst[1] = row[1];
    dst[2] = row[2];
    dst[3] = 0;
  }
}

void copy_rows(const Source& source, Window out, const Target& target) {
  const ptrdiff_t skip = static_cast<ptrdiff_t>(out.left - source.left()) * source.bytes_per_pixel();
  for (int y = 0; y < out.height; ++y) {
    copy_row(source.row(out.top + y) + skip, source.bytes_per_pixel(), out.width, target.row(y));
  }
}

void only_horizontal(const Source& source, const Taps& across, Window out, const SimdPath& path, const Target& target) {
  for (int y = 0; y < out.height; ++y) {
    path.horizontal(source.open_row(out.top + y), source.bytes_per_pixel(), source.left(), across, out.left, out.width,
                    target.row(y));
  }
}

// Rows are made just before they are needed, and kept in a ring as large as the largest number of rows an output needs.
void horizontal_first(const Source& source, const Taps& across, const Taps& down, Window out, Scratch& scratch,
                      const Target& target) {
  const size_t line_bytes = static_cast<size_t>(out.width) * 4;
  scratch.lines.resize(std::max(scratch.lines.size(), line_bytes * down.stride));
  const auto line = [&](int y) { return scratch.lines.data() + (y % down.stride) * line_bytes; };
  int next = 0;
  for (int y = 0; y < out.height; ++y) {
    const int index = out.top + y;
    const int first = down.first[index], count = down.count[index];
    for (next = std::max(next, first); next < first + count; ++next) {
      scratch.path().horizontal(source.open_row(next), source.bytes_per_pixel(), source.left(), across, out.left,
                                out.width, line(next));
    }
    for (int i = 0; i < count; ++i) scratch.rows[i] = line(first + i);
    scratch.path().vertical(scratch.rows.data(), down.weights_of(index), count, line_bytes, target.row(y));
  }
}

// Vertical pass into one line, then `finish(line, y)`.
template <typename Finish>
void vertical_first(const Source& source, const Taps& down, size_t slack, Window out, Scratch& scratch,
                    const Finish& finish) {
  scratch.lines.resize(std::max(scratch.lines.size(), source.row_bytes() + slack));
  for (int y = 0; y < out.height; ++y) {
    const int index = out.top + y;
    const int first = down.first[index], count = down.count[index];
    for (int i = 0; i < count; ++i) scratch.rows[i] = source.row(first + i);
    scratch.path().vertical(scratch.rows.data(), down.weights_of(index), count, source.row_bytes(),
                            scratch.lines.data());
    finish(scratch.lines.data(), y);
  }
}

// Pillow 13: rows first where the height loses more than twice as many pixels as the width.
bool goes_vertically_first(int in_width, int in_height, int out_width, int out_height) {
  const int64_t lost_rows = static_cast<int64_t>(in_height) - out_height;
  const int64_t lost_columns = static_cast<int64_t>(in_width) - out_width;
  return lost_rows > 0 && lost_rows > 2 * lost_columns;
}

Span span_of(int in_size, int out_size, int begin, int size, Filter filter) {
  if (in_size == out_size) return {begin, begin + size};
  if (filter == Filter::nearest) return nearest_span(in_size, out_size, begin, size);
  return {tap_span(in_size, out_size, filter, begin).first, tap_span(in_size, out_size, filter, begin + size - 1).last};
}

}  // namespace

Window source_window(int in_width, int in_height, int out_width, int out_height, Window out, Filter filter) {
  const Span columns = span_of(in_width, out_width, out.left, out.width, filter);
  const Span rows = span_of(in_height, out_height, out.top, out.height, filter);
  return {columns.first, rows.first, columns.last - columns.first, rows.last - rows.first};
}

void resize(const Pixels& src, Window region, int in_width, int in_height, int out_width, int out_height, Window out,
            Filter filter, Scratch& scratch, uint8_t* dst, ptrdiff_t dst_stride) {
  const Target target{dst, dst_stride};
  const bool across_changes = in_width != out_width, down_changes = in_height != out_height;
  if (filter == Filter::nearest && (across_changes || down_changes)) {
    resize_nearest(src, region, in_width, in_height, out_width, out_height, out, scratch, dst, dst_stride);
    return;
  }
  const Taps* across = across_changes ? &horizontal_taps(scratch, in_width, out_width, out, filter) : nullptr;
  const Taps* down = down_changes ? &scratch.taps(in_height, out_height, filter) : nullptr;
  if (down != nullptr) scratch.rows.resize(std::max<size_t>(scratch.rows.size(), down->stride));
  const size_t slack = across != nullptr ? slack_of(*across, src.bytes_per_pixel) : 0;
  const Source source(src, region, slack, scratch.padded_row);
  if (across == nullptr && down == nullptr) {
    copy_rows(source, out, target);
  } else if (down == nullptr) {
    only_horizontal(source, *across, out, scratch.path(), target);
  } else if (across == nullptr) {
    const ptrdiff_t skip = static_cast<ptrdiff_t>(out.left - region.left) * src.bytes_per_pixel;
    vertical_first(source, *down, slack, out, scratch, [&](const uint8_t* line, int y) {
      copy_row(line + skip, src.bytes_per_pixel, out.width, target.row(y));
    });
  } else if (goes_vertically_first(in_width, in_height, out_width, out_height)) {
    vertical_first(source, *down, slack, out, scratch, [&](const uint8_t* line, int y) {
      scratch.path().horizontal(line, src.bytes_per_pixel, region.left, *across, out.left, out.width, target.row(y));
    });
  } else {
    horizontal_first(source, *across, *down, out, scratch, target);
  }
}

}  // namespace headrace
