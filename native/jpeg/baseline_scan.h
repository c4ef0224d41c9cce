// Entropy decoding of the one scan of a baseline JPEG, in libjpeg's place: about twice as fast, and faster still where
// the caller needs no coefficients. Everything that is not plainly well-formed is refused, and is then libjpeg's again.
#pragma once
#include <array>
#include <cstdint>

#include "jpeg/bit_reader.h"
#include "jpeg/huffman_table.h"
#include "jpeg/libjpeg.h"

// libjpeg-turbo's interface between its modules, as far as this decoder needs it: the same in all of 2.x and 3.x. What
// follows there (a flag, or two functions for lossless images and the flag) is never set.
struct jpeg_entropy_decoder {
  void (*start_pass)(j_decompress_ptr);
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
  void* unset[4];
};

namespace headrace {

// How one block of an MCU is decoded.
struct ScanBlock {
  const HuffmanTable* dc;
  const HuffmanTable* ac;
  int32_t* predictor;
};

class BaselineScan : private jpeg_entropy_decoder {
 public:
  BaselineScan() : jpeg_entropy_decoder{} {}
  BaselineScan(const BaselineScan&) = delete;
  BaselineScan& operator=(const BaselineScan&) = delete;

  // Whether this decoder knows the image. After jpeg_read_header.
  static bool knows(j_decompress_ptr cinfo);

  // Takes over from libjpeg's entropy decoder, for these bytes. Right after jpeg_start_decompress.
  void attach(j_decompress_ptr cinfo, const uint8_t* scan, size_t size);

  // Coefficients are only needed of these columns of MCUs.
  void restrict_columns(JDIMENSION first, JDIMENSION last) { first_column_ = first, last_column_ = last; }

  // Whether nothing but the end of the image follows what was decoded.
  bool ends_image() { return reader_.ends_with(JPEG_EOI); }

 private:
  static boolean decode(j_decompress_ptr cinfo, JBLOCKROW* rows);
  bool decode_next(JBLOCKROW* rows);
  bool restart();

  BitReader reader_;
  std::array<HuffmanTable, NUM_HUFF_TBLS> dc_tables_, ac_tables_;
  std::array<ScanBlock, D_MAX_BLOCKS_IN_MCU> blocks_ = {};
  std::array<int32_t, MAX_COMPS_IN_SCAN> predictors_ = {};
  int num_blocks_ = 0;
  JDIMENSION column_ = 0, num_columns_ = 0, first_column_ = 0, last_column_ = 0;
  unsigned restart_interval_ = 0, until_restart_ = 0;
  int next_restart_ = 0;
};

}  // namespace headrace
