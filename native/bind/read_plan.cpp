#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "bind/columns.h"
#include "bind/gil.h"
#include "io/plan.h"

namespace nb = nanobind;

namespace headrace {

namespace {

using Fds = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array>
auto flat(const Array& array) {
  return std::span(array.data(), array.size());
}

// Ranges in a table of rows and columns, as a source has fields and samples.
class PythonReadPlan {
 public:
  PythonReadPlan(const Fds& fds, const Numbers& offsets, const Numbers& sizes)
      : rows_(fds.shape(0)), columns_(fds.shape(1)), plan_({flat(fds), checked(offsets), checked(sizes)}) {}

  uint64_t size() const { return plan_.size(); }

  // Reads, and gives the address of each range and what became of those that were not read.
  nb::tuple read(const OutputArray& arena) const {
    if (arena.ndim() != 1 || arena.dtype() != nb::dtype<uint8_t>() || !is_c_contiguous(arena) ||
        arena.shape(0) < plan_.size()) {
      refuse("arena must be uint8 of shape (" + std::to_string(plan_.size()) + ",) or more, got shape " +
             shape_text(arena));
    }
    auto* base = static_cast<uint8_t*>(arena.data());
    std::vector<int32_t> status;
    {
      const GilReleased released;
      status = plan_.run(base);
    }
    std::vector<uint64_t> addresses;
    nb::dict failed;
    for (size_t i = 0; i < status.size(); ++i) {
      const io::Landing& landing = plan_.landings()[i];
      addresses.push_back(landing.read == io::kNoRead ? 0 : reinterpret_cast<uintptr_t>(base) + landing.place);
      if (status[i] != 0) failed[nb::int_(i)] = status[i];
    }
    return nb::make_tuple(to_numpy(std::move(addresses), {rows_, columns_}), failed);
  }

  nb::list reads() const {
    nb::list out;
    for (const io::Read& read : plan_.reads()) {
      out.append(nb::make_tuple(read.fd, read.offset, read.size, read.place));
    }
    return out;
  }

 private:
  std::span<const uint64_t> checked(const Numbers& numbers) const {
    if (numbers.shape(0) != rows_ || numbers.shape(1) != columns_) {
      throw std::invalid_argument("fds, offsets and sizes must have one shape");
    }
    return flat(numbers);
  }

  size_t rows_, columns_;
  io::ReadPlan plan_;
};

}  // namespace

void bind_read_plan(nb::module_& module) {
  nb::class_<PythonReadPlan>(module, "ReadPlan")
      .def(nb::init<const Fds&, const Numbers&, const Numbers&>(), nb::arg("fds"), nb::arg("offsets"), nb::arg("sizes"))
      .def_prop_ro("size_bytes", &PythonReadPlan::size)
      .def_prop_ro("reads", &PythonReadPlan::reads)
      .def("read", &PythonReadPlan::read, nb::arg("arena"));
}

}  // namespace headrace
