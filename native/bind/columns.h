// One-dimensional columns: numpy arrays in and out of plain C++.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace headrace {

template <typename T>
using Input = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <typename T>
std::span<const T> view(const Input<T>& array) {
  return {array.data(), array.size()};
}

// An array that owns the vector's memory: nothing is copied.
template <typename T, typename... Options>
auto to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T, Options...>(kept->data(), shape, owner);
}

template <typename T>
auto to_numpy(std::vector<T> values) {
  const size_t count = values.size();
  return to_numpy<T, nanobind::ndim<1>>(std::move(values), {count});
}

}  // namespace headrace
