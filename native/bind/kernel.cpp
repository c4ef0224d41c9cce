#include "bind/bind.h"

namespace nb = nanobind;

namespace headrace {
void bind_kernel(nb::module_& module) { (void)module; }
}  // namespace headrace
