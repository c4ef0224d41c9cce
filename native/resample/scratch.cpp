#include "resample/scratch.h"

#include <algorithm>

namespace headrace {

Taps& Scratch::taps(int in_size, int out_size, Filter filter) {
  const auto same = [=](const Table& table) {
    return table.taps.in_size == in_size && table.taps.out_size == out_size && table.taps.filter == filter;
  };
  auto table = std::find_if(tables_.begin(), tables_.end(), same);
  if (table == tables_.end()) {
    table = std::min_element(tables_.begin(), tables_.end(),
                             [](const Table& a, const Table& b) { return a.last_use < b.last_use; });
    make_taps(in_size, out_size, filter, table->taps);
  }
  table->last_use = ++uses_;
  return table->taps;
}

}  // namespace headrace
