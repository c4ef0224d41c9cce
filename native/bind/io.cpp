#include <nanobind/stl/string.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bind/bind.h"
#include "bind/columns.h"
#include "bind/gil.h"
#include "io/files.h"
#include "io/ranges.h"

namespace nb = nanobind;

namespace headrace {

namespace {

auto read_ranges(const Input<int32_t>& fds, const Input<uint64_t>& offsets, const Input<uint64_t>& sizes,
                 const Input<uint64_t>& addresses) {
  const size_t count = fds.size();
  if (offsets.size() != count || sizes.size() != count || addresses.size() != count) {
    throw std::invalid_argument("fds, offsets, sizes and addresses must have one length");
  }
  std::vector<int32_t> status(count);
  {
    const GilReleased released;
    io::read_ranges({view(fds), view(offsets), view(sizes), view(addresses)}, status.data());
  }
  return to_numpy(std::move(status));
}

auto open_files(const nb::sequence& paths) {
  std::vector<std::string> names;
  for (const nb::handle path : paths) {
    const auto bytes = nb::cast<nb::bytes>(path);
    names.emplace_back(bytes.c_str(), bytes.size());
    if (names.back().find('\0') != std::string::npos) throw std::invalid_argument("a path holds a NUL byte");
  }
  std::vector<int32_t> fds;
  std::vector<uint64_t> sizes;
  std::vector<int32_t> errors;
  {
    const GilReleased released;
    for (const std::string& name : names) {
      const io::Opened file = io::open_file(name);
      fds.push_back(file.fd);
      sizes.push_back(file.size);
      errors.push_back(file.error_number);
    }
  }
  return nb::make_tuple(to_numpy(std::move(fds)), to_numpy(std::move(sizes)), to_numpy(std::move(errors)));
}

void close_files(const Input<int32_t>& fds) {
  const GilReleased released;
  for (const int32_t fd : view(fds)) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace

void bind_io(nb::module_& module) {
  module.def("read_ranges", &read_ranges, nb::arg("fds"), nb::arg("offsets"), nb::arg("sizes"), nb::arg("addresses"));
  module.def("open_files", &open_files, nb::arg("paths"));
  module.def("close_files", &close_files, nb::arg("fds"));
  module.def("start_writeback", &io::start_writeback, nb::arg("fd"), nb::arg("offset"), nb::arg("size"),
             nb::call_guard<GilReleased>());
}

}  // namespace headrace
