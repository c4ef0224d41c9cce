#include "bind/bind.h"

namespace nb = nanobind;

namespace headrace {
void bind_tar(nb::module_& module) { (void)module; }
}  // namespace headrace
