#include "jpeg/baseline_scan.h"

#include "jpeg/failure.h"

namespace headrace {
namespace {

// The versions whose interface has been compared with ours; others keep their own entropy decoder.
constexpr bool kHasKnownInterface = LIBJPEG_TURBO_VERSION_NUMBER >= 2000000 && LIBJPEG_TURBO_VERSION_NUMBER < 4000000;

// Where the coefficients lie in a block, in the order in which they are sent (T.81, figure A.6).
constexpr uint8_t kZigZag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
                                 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                                 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The value behind a code word (T.81, figure F.12): `bits` begins with the code word.
inline int value_of(HuffmanEntry entry, uint64_t bits) {
  const uint64_t behind = bits << (entry.total - entry.size);
  const int raw = static_cast<int>((behind >> 1) >> (63 - entry.size));
  const int is_negative = static_cast<int>(~static_cast<int64_t>(behind) >> 63);
  return raw - (is_negative & ((1 << entry.size) - 1));
}

// Takes a code word and the value behind it; `bits` is what the reader had.
inline HuffmanEntry take(BitReader& reader, const HuffmanTable& table, uint64_t& bits) {
  bits = reader.bits();
  const HuffmanEntry entry = table.find(bits);
  reader.drop(entry.total);
  return entry;
}

// A code word and its value are 16 + 15 bits at most: behind one of 25 bits or less, a refill is enough for another.
constexpr int kLeavesRoom = BitReader::kRefilled - 31;

// All but the first coefficient of a block.
inline bool decode_ac(BitReader& reader, const HuffmanTable& table, JCOEF* block) {
  unsigned k = 1;
  const auto take_one = [&] {
    uint64_t bits;
    const HuffmanEntry entry = take(reader, table, bits);
    k += entry.run;
    if (k < 64) block[kZigZag[k]] = static_cast<JCOEF>(value_of(entry, bits));
    ++k;
    return entry.total;
  };
  while (k < 64) {
    reader.refill();
    if (take_one() <= kLeavesRoom && k < 64) take_one();
  }
  return k == 64 || k > HuffmanTable::kEndOfBlock;
}

// The same without the values: several code words at once where all but the last stay within the block.
inline bool skip_ac(BitReader& reader, const HuffmanTable& table) {
  unsigned k = 1;
  const auto take_some = [&] {
    const HuffmanSkip skip = table.find_skip(reader.bits());
    if (skip.total != 0 && k + skip.before < 64) {
      k += skip.advance;
      reader.drop(skip.total);
      return skip.total;
    }
    uint64_t bits;
    const HuffmanEntry entry = take(reader, table, bits);
    k += entry.run + 1U;
    return entry.total;
  };
  while (k < 64) {
    reader.refill();
    if (take_some() <= kLeavesRoom && k < 64) take_some();
  }
  return k == 64 || k > HuffmanTable::kEndOfBlock;
}

// An MCU; without `rows`, only what later ones depend on. False where it is not well-formed.
[[gnu::always_inline]] inline bool decode_blocks(BitReader& shared_reader, const ScanBlock* blocks, int num_blocks,
                                                 JBLOCKROW* rows) {
  BitReader reader = shared_reader;  // a copy that the compiler can keep in registers
  bool good = true;
  for (int i = 0; i < num_blocks; ++i) {
    uint64_t bits;
    reader.refill();
    const HuffmanEntry entry = take(reader, *blocks[i].dc, bits);
    const int32_t value = *blocks[i].predictor += value_of(entry, bits);
    good &= entry.run == 0;
    if (rows != nullptr) {
      (*rows[i])[0] = static_cast<JCOEF>(value);
      good &= decode_ac(reader, *blocks[i].ac, *rows[i]);
    } else {
      good &= skip_ac(reader, *blocks[i].ac);
    }
    if (!good) return false;
  }
  shared_reader = reader;
  return !reader.overdrawn();
}

bool decode_blocks_plain(BitReader& reader, const ScanBlock* blocks, int num_blocks, JBLOCKROW* rows) {
  return decode_blocks(reader, blocks, num_blocks, rows);
}

#if defined(__x86_64__)
// The same code with shifts by any register, which are half as long.
[[gnu::target("bmi,bmi2")]] bool decode_blocks_bmi2(BitReader& reader, const ScanBlock* blocks, int num_blocks,
                                                    JBLOCKROW* rows) {
  return decode_blocks(reader, blocks, num_blocks, rows);
}

const auto decode_blocks_best = __builtin_cpu_supports("bmi2") ? decode_blocks_bmi2 : decode_blocks_plain;
#else
constexpr auto decode_blocks_best = decode_blocks_plain;
#endif

}  // namespace

bool BaselineScan::knows(j_decompress_ptr cinfo) {
  return kHasKnownInterface && !cinfo->progressive_mode && !cinfo->arith_code && !jpeg_has_multiple_scans(cinfo);
}

void BaselineScan::attach(j_decompress_ptr cinfo, const uint8_t* scan, size_t size) {
  start_pass = nullptr;
  decode_mcu = decode;
  reader_ = BitReader(scan, size);
  predictors_.fill(0);
  num_blocks_ = cinfo->blocks_in_MCU;
  for (int i = 0; i < num_blocks_; ++i) {
    const int component = cinfo->MCU_membership[i];
    const jpeg_component_info& info = *cinfo->cur_comp_info[component];
    HuffmanTable& dc = dc_tables_[info.dc_tbl_no];
    HuffmanTable& ac = ac_tables_[info.ac_tbl_no];
    dc.load(*cinfo->dc_huff_tbl_ptrs[info.dc_tbl_no], true);
    ac.load(*cinfo->ac_huff_tbl_ptrs[info.ac_tbl_no], false);
    blocks_[i] = {.dc = &dc, .ac = &ac, .predictor = &predictors_[component]};
  }
  column_ = 0;
  num_columns_ = cinfo->MCUs_per_row;
  restrict_columns(0, num_columns_ - 1);
  restart_interval_ = until_restart_ = cinfo->restart_interval;
  next_restart_ = 0;
  cinfo->entropy = this;
}

// libjpeg's call, without `rows` where it skips the MCU.
boolean BaselineScan::decode(j_decompress_ptr cinfo, JBLOCKROW* rows) {
  if (!static_cast<BaselineScan*>(cinfo->entropy)->decode_next(rows)) {
    Failure::raise(reinterpret_cast<j_common_ptr>(cinfo), Status::corrupt, "not a well-formed scan");
  }
  return TRUE;
}

bool BaselineScan::decode_next(JBLOCKROW* rows) {
  if (restart_interval_ != 0 && until_restart_-- == 0 && !restart()) return false;
  const bool is_needed = column_ >= first_column_ && column_ <= last_column_;
  if (++column_ == num_columns_) column_ = 0;
  if (!decode_blocks_best(reader_, blocks_.data(), num_blocks_, is_needed ? rows : nullptr)) return false;
  // Beyond any DC value that a picture can have; libjpeg says what happens then.
  constexpr int32_t kFarOff = 1 << 30;
  for (const int32_t value : predictors_) {
    if (value > kFarOff || value < -kFarOff) return false;
  }
  return true;
}

bool BaselineScan::restart() {
  if (!reader_.ends_with(JPEG_RST0 + next_restart_)) return false;
  reader_.pass_marker();
  next_restart_ = (next_restart_ + 1) & 7;
  until_restart_ = restart_interval_ - 1;
  predictors_.fill(0);
  return true;
}

}  // namespace headrace
