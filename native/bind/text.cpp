#include <stdexcept>
#include <vector>

#include "bind/bind.h"
#include "bind/columns.h"
#include "text/integers.h"

namespace nb = nanobind;

namespace headrace {
namespace {

nb::object parse_integers(const Input<uint64_t>& addresses, const Input<uint64_t>& sizes) {
  const size_t count = addresses.size();
  if (sizes.size() != count) throw std::invalid_argument("addresses and sizes must have one length");
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) {
    const auto number = text::parse_integer(reinterpret_cast<const uint8_t*>(addresses.data()[i]), sizes.data()[i]);
    if (!number) return nb::none();
    values.push_back(*number);
  }
  return nb::cast(to_numpy(std::move(values)));
}

}  // namespace

void bind_text(nb::module_& module) {
  module.def("parse_integers", parse_integers, nb::arg("addresses"), nb::arg("sizes"));
}

}  // namespace headrace
