#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.h"
#include "bind/bind.h"
#include "bind/columns.h"
#include "bind/gil.h"
#include "io/cached_ranges.h"
#include "io/plan.h"
#include "io/whole_files.h"

namespace nb = nanobind;

namespace headrace {

namespace {

using Fds = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array>
auto flat(const Array& array) {
  return std::span(array.data(), array.size());
}

// The memory of an arena of at least this many bytes.
uint8_t* checked_arena(const OutputArray& arena, uint64_t size) {
  if (arena.ndim() != 1 || arena.dtype() != nb::dtype<uint8_t>() || !is_c_contiguous(arena) || arena.shape(0) < size) {
    refuse("arena must be uint8 of shape (" + std::to_string(size) + ",) or more, got shape " + shape_text(arena));
  }
  return static_cast<uint8_t*>(arena.data());
}

// What is not 0, by its place.
nb::dict failures(const std::vector<int32_t>& status) {
  nb::dict failed;
  for (size_t i = 0; i < status.size(); ++i) {
    if (status[i] != 0) failed[nb::int_(i)] = status[i];
  }
  return failed;
}

// Ranges in a table of rows and columns, as a source has fields and samples.
class PythonReadPlan {
 public:
  PythonReadPlan(const Fds& fds, const Numbers& offsets, const Numbers& sizes)
      : rows_(fds.shape(0)), columns_(fds.shape(1)), plan_({flat(fds), checked(offsets), checked(sizes)}) {}

  uint64_t size() const { return plan_.size(); }

  // Reads, and gives the address of each range and what became of those that were not read.
  nb::tuple read(const OutputArray& arena) const {
    uint8_t* base = checked_arena(arena, plan_.size());
    std::vector<int32_t> status;
    {
      const GilReleased released;
      status = plan_.run(base);
    }
    std::vector<uint64_t> addresses;
    for (const io::Landing& landing : plan_.landings()) {
      addresses.push_back(landing.read == io::kNoRead ? 0 : reinterpret_cast<uintptr_t>(base) + landing.place);
    }
    return nb::make_tuple(to_numpy(std::move(addresses), {rows_, columns_}), failures(status));
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

// The paths of some files, of which path i ends before byte `ends[i]` of all paths one after another.
std::vector<std::string> paths_of(const nb::bytes& paths, const Input<int64_t>& ends, const Input<int64_t>& files) {
  std::vector<std::string> chosen;
  for (const int64_t file : view(files)) {
    if (file < 0 || static_cast<size_t>(file) >= ends.size()) throw std::out_of_range("there is no such file");
    const int64_t begin = file == 0 ? 0 : ends.data()[file - 1], end = ends.data()[file];
    if (begin < 0 || begin > end || static_cast<size_t>(end) > paths.size()) {
      throw std::invalid_argument("ends must rise and stay within paths");
    }
    chosen.emplace_back(paths.c_str() + begin, static_cast<size_t>(end - begin));
    if (chosen.back().find('\0') != std::string::npos) throw std::invalid_argument("a path holds a NUL byte");
  }
  return chosen;
}

class PythonWholeFiles {
 public:
  PythonWholeFiles(const nb::bytes& paths, const Input<int64_t>& ends, const Input<int64_t>& files) {
    const auto chosen = paths_of(paths, ends, files);
    const GilReleased released;
    files_ = std::make_unique<io::WholeFiles>(chosen);
  }

  uint64_t size() const { return files_->size(); }

  // Reads, and gives address and size of each file and what became of those that were not read.
  nb::tuple read(const OutputArray& arena) {
    uint8_t* base = checked_arena(arena, files_->size());
    std::vector<int32_t> status;
    {
      const GilReleased released;
      status = files_->read(base);
    }
    std::vector<uint64_t> addresses, sizes;
    for (const io::Opened& file : files_->files()) {
      addresses.push_back(reinterpret_cast<uintptr_t>(base));
      sizes.push_back(file.size);
      base += file.size;
    }
    return nb::make_tuple(to_numpy(std::move(addresses)), to_numpy(std::move(sizes)), failures(status));
  }

 private:
  std::unique_ptr<io::WholeFiles> files_;
};

io::CachedRanges made_ranges(const Input<int32_t>& fds, const Input<uint64_t>& offsets, const Input<uint64_t>& sizes) {
  if (offsets.size() != fds.size() || sizes.size() != fds.size()) {
    throw std::invalid_argument("fds, offsets and sizes must have one length");
  }
  return {view(fds), view(offsets), view(sizes)};
}

}  // namespace

void bind_reads(nb::module_& module) {
  nb::class_<io::CachedRanges>(module, "CachedRanges")
      .def(
          "__init__",
          [](io::CachedRanges* self, const Input<int32_t>& fds, const Input<uint64_t>& offsets,
             const Input<uint64_t>& sizes) { new (self) io::CachedRanges(made_ranges(fds, offsets, sizes)); },
          nb::arg("fds"), nb::arg("offsets"), nb::arg("sizes"))
      .def("all_there", &io::CachedRanges::all_there)
      .def_prop_ro("waited_s",
                   [](const io::CachedRanges& self) { return static_cast<double>(self.waited_ns()) * 1e-9; });
  nb::class_<PythonReadPlan>(module, "ReadPlan")
      .def(nb::init<const Fds&, const Numbers&, const Numbers&>(), nb::arg("fds"), nb::arg("offsets"), nb::arg("sizes"))
      .def_prop_ro("size_bytes", &PythonReadPlan::size)
      .def_prop_ro("reads", &PythonReadPlan::reads)
      .def("read", &PythonReadPlan::read, nb::arg("arena"));
  nb::class_<PythonWholeFiles>(module, "WholeFiles")
      .def(nb::init<const nb::bytes&, const Input<int64_t>&, const Input<int64_t>&>(), nb::arg("paths"),
           nb::arg("ends"), nb::arg("files"))
      .def_prop_ro("size_bytes", &PythonWholeFiles::size)
      .def("read", &PythonWholeFiles::read, nb::arg("arena"));
}

}  // namespace headrace
