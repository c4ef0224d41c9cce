// Memory for pixels that is kept from one image to the next.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace headrace {

// Bytes that only ever grow, not initialised. `trim` gives back what one huge image has left behind.
class Surface {
 public:
  uint8_t* reserve(size_t size) {
    if (size > capacity_) {
      memory_.reset();
      capacity_ = 0;
      memory_ = std::make_unique_for_overwrite<uint8_t[]>(size);
      capacity_ = size;
    }
    return memory_.get();
  }

  void trim() {
    constexpr size_t kKeptBytes = size_t{64} << 20;
    if (capacity_ <= kKeptBytes) return;
    memory_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t capacity_ = 0;
};

}  // namespace headrace
