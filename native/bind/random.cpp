#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bind/bind.h"
#include "bind/columns.h"
#include "random/hash.h"

namespace nb = nanobind;

namespace headrace {
namespace {

auto sample_keys(uint64_t state, const Input<int64_t>& ids, uint64_t view_number,
                 const std::optional<Input<int64_t>>& draws) {
  if (draws && draws->size() != ids.size()) throw std::invalid_argument("ids and draws must have one length");
  std::vector<uint64_t> keys(ids.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t draw = draws ? static_cast<uint64_t>(draws->data()[i]) : 0;
    keys[i] = fold(fold(fold(state, static_cast<uint64_t>(ids.data()[i])), view_number), draw);
  }
  return to_numpy(std::move(keys));
}

}  // namespace

void bind_random(nb::module_& module) {
  module.def("sample_keys", &sample_keys, nb::arg("state"), nb::arg("ids"), nb::arg("view") = 0,
             nb::arg("draws") = nb::none());
}

}  // namespace headrace
