#include "jpeg/decoder.h"

#include <algorithm>
#include <limits>
#include <new>

#include "jpeg/end_marker.h"
#include "jpeg/orientation.h"

namespace headrace {
namespace {

bool looks_like_jpeg(const uint8_t* data, size_t size) {
  return size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
}

Outcome unsupported(std::string message) { return {.status = Status::unsupported, .message = std::move(message)}; }

// Gives back what an image took (all coefficients of a progressive one), not only when the next one comes.
class Abandoned {
 public:
  explicit Abandoned(jpeg_decompress_struct& cinfo) : cinfo_(cinfo) {}
  ~Abandoned() { jpeg_abort_decompress(&cinfo_); }
  Abandoned(const Abandoned&) = delete;
  Abandoned& operator=(const Abandoned&) = delete;

 private:
  jpeg_decompress_struct& cinfo_;
};

Outcome over_limit(std::string message) { return {.status = Status::over_limit, .message = std::move(message)}; }

}  // namespace

Decoder::Decoder() {
  cinfo_.err = failure_.manager();
  cinfo_.client_data = &failure_;
  scan_limit_.progress_monitor = check_scans;
  if (!failure_.guard([this] { create(); })) throw std::bad_alloc();
}

void Decoder::create() {
  jpeg_create_decompress(&cinfo_);
  cinfo_.src = source_.manager();
  cinfo_.progress = &scan_limit_;
  cinfo_.mem->max_memory_to_use = max_memory_;
}

Decoder::~Decoder() { jpeg_destroy_decompress(&cinfo_); }

// Called by libjpeg between pieces of work: a few kilobytes can hold thousands of scans over a huge image.
void Decoder::check_scans(j_common_ptr cinfo) {
  const auto* limit = static_cast<ScanLimit*>(cinfo->progress);
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number <= limit->scans) return;
  char text[JMSG_LENGTH_MAX];
  std::snprintf(text, sizeof text, "more scans than the limit of %d", limit->scans);
  Failure::raise(cinfo, Status::over_limit, text);
}

Outcome Decoder::open(const uint8_t* data, size_t size, bool read_orientation, const DecodeLimits& limits) {
  if (!looks_like_jpeg(data, size)) return unsupported("not a JPEG: it does not begin with ff d8 ff");
  data_ = data;
  size_ = size;
  scan_limit_.scans = limits.scans;
  max_memory_ = static_cast<long>(std::min<int64_t>(limits.decoder_bytes, std::numeric_limits<long>::max()));
  read_orientation_ = read_orientation;
  if (Outcome outcome = read_headers(); !outcome.ok()) return outcome;
  header_ = {.width = static_cast<int>(cinfo_.image_width),
             .height = static_cast<int>(cinfo_.image_height),
             .components = cinfo_.num_components,
             .progressive = cinfo_.progressive_mode != FALSE,
             .orientation = stored_orientation()};
  return judge_headers(limits);
}

// A decoder that goes on to another file keeps the tables of the last one: a file without its own would be decoded, and
// to something else each time. Making it anew takes a microsecond.
Outcome Decoder::read_headers() {
  jpeg_destroy_decompress(&cinfo_);
  const bool done = failure_.guard([this] {
    create();
    source_.set(data_, size_);
    if (read_orientation_) jpeg_save_markers(&cinfo_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&cinfo_, TRUE);
  });
  return done ? Outcome{} : failure_.outcome();
}

// EXIF is believed before XMP, wherever the two stand.
int Decoder::stored_orientation() const {
  std::optional<int> exif, xmp;
  for (const jpeg_marker_struct* marker = cinfo_.marker_list; marker != nullptr; marker = marker->next) {
    if (!exif) exif = exif_orientation(marker->data, marker->data_length);
    if (!xmp) xmp = xmp_orientation(marker->data, marker->data_length);
  }
  return exif.value_or(xmp.value_or(1));
}

Outcome Decoder::judge_headers(const DecodeLimits& limits) const {
  const J_COLOR_SPACE colors = cinfo_.jpeg_color_space;
  if (colors != JCS_GRAYSCALE && colors != JCS_YCbCr && colors != JCS_RGB) {
    return unsupported("a JPEG that is not grey, YCbCr or RGB (" + std::to_string(cinfo_.num_components) +
                       " components)");
  }
  if (cinfo_.arith_code) return unsupported("a JPEG with arithmetic coding");
  if (cinfo_.data_precision != 8) return unsupported("a JPEG of " + std::to_string(cinfo_.data_precision) + " bits");
  // Where a sequential scan does not begin with the DC coefficient it is lossless, or nothing we know.
  if (!cinfo_.progressive_mode && cinfo_.Ss != 0) return unsupported("a JPEG that is lossless");
  const int64_t num_pixels = int64_t{header_.width} * header_.height;
  if (num_pixels > limits.pixels) {
    return over_limit("an image of " + std::to_string(header_.width) + " x " + std::to_string(header_.height) +
                      " pixels, the `pixels` limit is " + std::to_string(limits.pixels));
  }
  if (coefficient_bytes() > limits.decoder_bytes) {
    return over_limit("decoding needs " + std::to_string(coefficient_bytes()) +
                      " bytes, the `decoder_bytes` limit is " + std::to_string(limits.decoder_bytes));
  }
  return {};
}

// What the decoder takes for coefficients: all of them where there are several scans, else a few rows of blocks.
int64_t Decoder::coefficient_bytes() const {
  auto* cinfo = const_cast<jpeg_decompress_struct*>(&cinfo_);
  if (!jpeg_has_multiple_scans(cinfo)) return 0;
  int64_t num_blocks = 0;
  for (int i = 0; i < cinfo_.num_components; ++i) {
    const jpeg_component_info& component = cinfo_.comp_info[i];
    num_blocks += int64_t{component.width_in_blocks} * component.height_in_blocks;
  }
  return num_blocks * int64_t{sizeof(JBLOCK)};
}

Outcome Decoder::check_end() {
  if (has_end_marker(source_.rest(), source_.rest_size())) return {};
  return {.status = Status::needs_full, .message = "no end marker: the file is cut short"};
}

void Decoder::start(J_COLOR_SPACE colors, int scale) {
  cinfo_.out_color_space = colors;
  cinfo_.dct_method = JDCT_ISLOW;
  cinfo_.do_fancy_upsampling = TRUE;
  cinfo_.scale_num = 1;
  cinfo_.scale_denom = static_cast<unsigned>(scale);
  jpeg_start_decompress(&cinfo_);
  if (smooths_blocks()) {
    Failure::raise(reinterpret_cast<j_common_ptr>(&cinfo_), Status::unsupported,
                   "a progressive JPEG without its last scans");
  }
}

// Where a progressive file never sends some coefficients to the last bit, libjpeg guesses them from the blocks around:
// which ones and how has changed between its versions, so that ours is not the reference's, and a partial decode would
// see other neighbours.
bool Decoder::smooths_blocks() const {
  if (!cinfo_.progressive_mode || cinfo_.coef_bits == nullptr) return false;
  constexpr int kGuessed = 9;
  for (int i = 0; i < cinfo_.num_components; ++i) {
    const int* bits = cinfo_.coef_bits[i];
    if (std::any_of(bits, bits + kGuessed + 1, [](int missing) { return missing != 0; })) return true;
  }
  return false;
}

// Restricts decoding to the columns of the region, one more on each side (upsampling looks at the neighbours), and
// two whole blocks at least (narrower, libjpeg swaps in another upsampling). Returns the first column that comes out.
int Decoder::crop_columns(const Window& region) {
  const int width = static_cast<int>(cinfo_.output_width);
  const int narrowest = 2 * cinfo_.max_h_samp_factor * cinfo_.min_DCT_scaled_size;
  int first = std::max(region.left - 1, 0);
  const int end = std::min(std::max(region.left + region.width + 1, first + narrowest), width);
  first = std::max(std::min(first, end - narrowest), 0);
  JDIMENSION offset = static_cast<JDIMENSION>(first), num_columns = static_cast<JDIMENSION>(end - first);
  jpeg_crop_scanline(&cinfo_, &offset, &num_columns);
  return static_cast<int>(offset);
}

// The same for our own scan: MCUs of other columns are passed over.
void Decoder::restrict_scan(int first_column) {
  const bool single = cinfo_.comps_in_scan == 1;
  const int width = (single ? 1 : cinfo_.max_h_samp_factor) * cinfo_.min_DCT_scaled_size;
  const int last_column = first_column + static_cast<int>(cinfo_.output_width) - 1;
  scan_.restrict_columns(static_cast<JDIMENSION>(first_column / width), static_cast<JDIMENSION>(last_column / width));
}

void Decoder::read_rows(uint8_t* out, size_t stride, int num_rows) {
  constexpr int kRowsAtOnce = 16;
  JSAMPROW rows[kRowsAtOnce];
  for (int done = 0; done < num_rows;) {
    const int num = std::min(kRowsAtOnce, num_rows - done);
    for (int i = 0; i < num; ++i) rows[i] = out + stride * static_cast<size_t>(done + i);
    done += static_cast<int>(jpeg_read_scanlines(&cinfo_, rows, static_cast<JDIMENSION>(num)));
  }
}

Outcome Decoder::read(Window region, int scale, Surface& surface, Pixels& pixels) {
  const Abandoned abandoned(cinfo_);
  if (Outcome outcome = check_end(); !outcome.ok()) return outcome;
  const bool own_scan = BaselineScan::knows(&cinfo_);
  Outcome outcome = read_region(region, scale, own_scan, surface, pixels);
  if (outcome.ok() || !own_scan) return outcome;
  // Damage, or something that we do not know: libjpeg decides, from the beginning.
  outcome = read_headers();
  return outcome.ok() ? read_region(region, scale, false, surface, pixels) : outcome;
}

Outcome Decoder::read_region(const Window& region, int scale, bool own_scan, Surface& surface, Pixels& pixels) {
  constexpr size_t kBytes = 4;
  int left = 0;
  const bool started = failure_.guard([&] {
    start(JCS_EXT_RGBX, scale);
    if (own_scan) scan_.attach(&cinfo_, source_.rest(), source_.rest_size());
    left = crop_columns(region);
    if (own_scan) restrict_scan(left);
    if (region.top > 0) jpeg_skip_scanlines(&cinfo_, static_cast<JDIMENSION>(region.top));
  });
  if (!started) return failure_.outcome();
  const size_t stride = kBytes * cinfo_.output_width;
  uint8_t* memory = surface.reserve(stride * static_cast<size_t>(region.height));
  if (!failure_.guard([&] { read_rows(memory, stride, region.height); })) return failure_.outcome();
  if (failure_.num_warnings() > 0) {
    return {.status = Status::needs_full, .message = "damage that the decoder may pass over, or not, further on"};
  }
  pixels = {.data = memory + kBytes * static_cast<size_t>(region.left - left),
            .stride = static_cast<ptrdiff_t>(stride),
            .bytes_per_pixel = kBytes};
  return {};
}

Outcome Decoder::read_all(uint8_t* out) {
  const Abandoned abandoned(cinfo_);
  if (Outcome outcome = check_end(); !outcome.ok()) return outcome;
  if (BaselineScan::knows(&cinfo_)) {
    if (read_all_rows(out, true)) return {};
    if (Outcome outcome = read_headers(); !outcome.ok()) return outcome;
  }
  return read_all_rows(out, false) ? Outcome{} : failure_.outcome();
}

// False where libjpeg gives up, or where our own scan is not followed by the end of the image and libjpeg must look.
bool Decoder::read_all_rows(uint8_t* out, bool own_scan) {
  bool is_whole = true;
  const bool done = failure_.guard([&] {
    start(JCS_EXT_RGB, 1);
    if (own_scan) scan_.attach(&cinfo_, source_.rest(), source_.rest_size());
    read_rows(out, size_t{3} * cinfo_.output_width, header_.height);
    if (own_scan) {
      is_whole = scan_.ends_image();
    } else {
      jpeg_finish_decompress(&cinfo_);
    }
  });
  return done && is_whole;
}

}  // namespace headrace
