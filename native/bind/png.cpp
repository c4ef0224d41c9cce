// What is left of a PNG after its stream is decompressed.
#include "bind/arrays.h"
#include "bind/bind.h"
#include "bind/gil.h"
#include "png/unfilter.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headrace {
namespace {

bool python_unfilter(const nb::bytes& filtered, const OutputArray& out) {
  if (out.ndim() != 2 || out.dtype() != nb::dtype<uint8_t>() || !is_c_contiguous(out)) {
    refuse("out must be a C-contiguous uint8 array of shape (height, width), got shape " + shape_text(out));
  }
  if (filtered.size() != out.shape(0) * (out.shape(1) + 1)) {
    refuse("filtered must have height * (width + 1) bytes, got " + std::to_string(filtered.size()));
  }
  const auto* data = static_cast<const uint8_t*>(filtered.data());
  auto* dst = static_cast<uint8_t*>(out.data());
  const GilReleased released;
  return unfilter(data, out.shape(0), out.shape(1), dst);
}

}  // namespace

void bind_png(nb::module_& module) { module.def("unfilter_png", &python_unfilter, "filtered"_a, "out"_a); }

}  // namespace headrace
