// One-dimensional columns: numpy arrays in and out of plain C++.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

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
template <typename T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner);
}

}  // namespace headrace
