// In which order the images of a batch are taken.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace headrace {

// The largest first, so that no thread begins a long one when the others are about to be idle.
template <typename Cost>
std::vector<uint32_t> largest_first(size_t count, const Cost& cost) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return cost(a) > cost(b); });
  return order;
}

}  // namespace headrace
