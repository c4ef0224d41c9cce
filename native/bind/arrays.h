// Arrays as arguments: checked by hand, so that a wrong one is a ValueError that names it and nothing is converted.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>

namespace headrace {

using InputArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using OutputArray = nanobind::ndarray<nanobind::device::cpu>;

[[noreturn]] inline void refuse(const std::string& message) { throw nanobind::value_error(message.c_str()); }

template <typename Array>
bool is_c_contiguous(const Array& array) {
  if (array.size() == 0) return true;
  int64_t step = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != step) return false;
    step *= static_cast<int64_t>(array.shape(i));
  }
  return true;
}

template <typename Array>
std::string shape_text(const Array& array) {
  std::string text = "(";
  for (size_t i = 0; i < array.ndim(); ++i) text += std::to_string(array.shape(i)) + ", ";
  return text + ")";
}

// The elements of a C-contiguous array of shape (count,), or (count, columns) where columns is not 0.
template <typename Element>
const Element* elements(const InputArray& array, const char* name, const char* type, size_t count, size_t columns = 0) {
  const bool fits = columns == 0 ? array.ndim() == 1 && array.shape(0) == count
                                 : array.ndim() == 2 && array.shape(0) == count && array.shape(1) == columns;
  if (!fits || array.dtype() != nanobind::dtype<Element>() || !is_c_contiguous(array)) {
    const std::string shape = std::to_string(count) + (columns == 0 ? "," : ", " + std::to_string(columns));
    refuse(std::string(name) + " must be a C-contiguous " + type + " array of shape (" + shape + "), got shape " +
           shape_text(array));
  }
  return static_cast<const Element*>(array.data());
}

template <typename Element>
const Element* elements(const std::optional<InputArray>& array, const char* name, const char* type, size_t count,
                        size_t columns = 0) {
  return array ? elements<Element>(*array, name, type, count, columns) : nullptr;
}

}  // namespace headrace
