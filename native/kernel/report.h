// What became of the rows of a batch.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "jpeg/outcome.h"
#include "kernel/plan.h"

namespace headrace {

// One entry a row; threads write to different ones.
class Report {
 public:
  using Params = std::array<int32_t, 8>;

  explicit Report(size_t num_rows) : status_(num_rows), params_(num_rows, Params{}), messages_(num_rows) {}

  const std::vector<uint8_t>& status() const { return status_; }
  // Image height and width, top, left, height and width of the box, flip, orientation.
  const std::vector<Params>& params() const { return params_; }
  const std::string& message(size_t row) const { return messages_[row]; }

  void set_image(size_t row, Size image, int orientation) {
    params_[row] = {image.height, image.width, 0, 0, 0, 0, 0, orientation};
  }

  void set_box(size_t row, const Window& box, bool flip) {
    Params& params = params_[row];
    params[2] = box.top, params[3] = box.left, params[4] = box.height, params[5] = box.width, params[6] = flip;
  }

  void set_outcome(size_t row, Outcome outcome) {
    status_[row] = static_cast<uint8_t>(outcome.status);
    messages_[row] = std::move(outcome.message);
  }

 private:
  std::vector<uint8_t> status_;
  std::vector<Params> params_;
  std::vector<std::string> messages_;
};

}  // namespace headrace
