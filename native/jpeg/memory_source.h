// Reads a JPEG from memory. Where the bytes end too early the decoder gives up (libjpeg's own source would put in an
// end marker and decode grey).
#pragma once
#include <cstdint>

#include "jpeg/libjpeg.h"

namespace headrace {

class MemorySource {
 public:
  MemorySource();
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;

  jpeg_source_mgr* manager() { return &manager_; }
  void set(const uint8_t* data, size_t size);

  // What the decoder has not read yet.
  const uint8_t* rest() const { return manager_.next_input_byte; }
  size_t rest_size() const { return manager_.bytes_in_buffer; }

 private:
  jpeg_source_mgr manager_ = {};
};

}  // namespace headrace
