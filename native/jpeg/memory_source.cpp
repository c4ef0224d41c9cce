#include "jpeg/memory_source.h"

#include "jpeg/failure.h"

namespace headrace {
namespace {

[[noreturn]] void give_up(j_decompress_ptr cinfo) {
  Failure::raise(reinterpret_cast<j_common_ptr>(cinfo), Status::needs_full, "the file ends inside the image");
}

void ignore(j_decompress_ptr) {}

boolean fill_input_buffer(j_decompress_ptr cinfo) { give_up(cinfo); }

void skip_input_data(j_decompress_ptr cinfo, long num_bytes) {
  if (num_bytes <= 0) return;
  jpeg_source_mgr& source = *cinfo->src;
  if (static_cast<size_t>(num_bytes) > source.bytes_in_buffer) give_up(cinfo);
  source.next_input_byte += num_bytes;
  source.bytes_in_buffer -= static_cast<size_t>(num_bytes);
}

}  // namespace

MemorySource::MemorySource() {
  manager_.init_source = ignore;
  manager_.fill_input_buffer = fill_input_buffer;
  manager_.skip_input_data = skip_input_data;
  manager_.resync_to_restart = jpeg_resync_to_restart;
  manager_.term_source = ignore;
}

void MemorySource::set(const uint8_t* data, size_t size) {
  manager_.next_input_byte = data;
  manager_.bytes_in_buffer = size;
}

}  // namespace headrace
