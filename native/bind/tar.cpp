#include <nanobind/stl/string.h>

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bind/bind.h"
#include "bind/columns.h"
#include "bind/gil.h"
#include "tar/group.h"
#include "tar/locate.h"
#include "tar/scan.h"

namespace nb = nanobind;

namespace headrace {

namespace {

// A hostile shard must not fill memory with descriptions of its faults.
constexpr size_t kMostFaults = 1000;

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

// Names of the kinds, as Python knows them.
const char* name_of(tar::FaultKind kind) {
  switch (kind) {
    case tar::FaultKind::kNotATar:
      return "not_a_tar";
    case tar::FaultKind::kTruncated:
      return "truncated";
    case tar::FaultKind::kCorrupt:
      return "corrupt";
    case tar::FaultKind::kUnsupported:
      return "unsupported";
    case tar::FaultKind::kReadError:
      return "read_error";
    default:
      return "none";
  }
}

const char* name_of(tar::ContentKind kind) {
  switch (kind) {
    case tar::ContentKind::kDuplicate:
      return "duplicate";
    case tar::ContentKind::kReserved:
      return "reserved";
    case tar::ContentKind::kUnresolved:
      return "unresolved";
    default:
      return "unsupported";
  }
}

// Called with the GIL released; lets Ctrl-C through, and tells whoever asked how far the scan is.
void tick(const nb::object& on_progress, uint64_t offset) {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!on_progress.is_none()) on_progress(offset);
}

nb::object fault_of(const tar::Fault& fault) {
  if (fault.kind == tar::FaultKind::kNone) return nb::none();
  return nb::make_tuple(name_of(fault.kind), fault.offset, fault.error_number, fault.text);
}

nb::list content_faults(const tar::Scan& scan, const tar::Samples& samples) {
  nb::list faults;
  for (const tar::ContentFault& fault : samples.faults) {
    if (faults.size() == kMostFaults) break;
    faults.append(nb::make_tuple(name_of(fault.kind), fault.sample, to_bytes(scan.members.name(fault.member)),
                                 scan.members.offsets[fault.member], to_bytes(fault.text)));
  }
  return faults;
}

template <typename Read>
nb::dict index_tar(Read&& read) {
  tar::Scan scan;
  tar::Samples samples;
  {
    const GilReleased released;
    scan = read();
    samples = tar::group(scan.members);
  }
  nb::dict out;
  nb::list fields;
  for (const std::string& field : samples.fields) fields.append(to_bytes(field));
  out["fault"] = fault_of(scan.fault);
  std::vector<uint32_t> faulty;
  for (const tar::ContentFault& fault : samples.faults) faulty.push_back(fault.sample);
  out["content_faults"] = content_faults(scan, samples);
  out["faulty"] = to_numpy(std::move(faulty));
  out["num_archives"] = scan.num_archives;
  out["num_members"] = scan.members.count();
  out["interleaved"] = samples.interleaved ? nb::cast(*samples.interleaved) : nb::none();
  out["fields"] = fields;
  out["keys"] = to_numpy(std::vector<uint8_t>(samples.keys.begin(), samples.keys.end()));
  out["key_starts"] = to_numpy(std::move(samples.key_starts));
  out["sample_starts"] = to_numpy(std::move(samples.starts));
  out["offsets"] = to_numpy(std::move(samples.offsets));
  out["sizes"] = to_numpy(std::move(samples.sizes));
  out["field_ids"] = to_numpy(std::move(samples.field_ids));
  return out;
}

nb::dict index_file(int fd, uint64_t size, const nb::object& on_progress) {
  return index_tar([&] {
    tar::FileSource source(fd, size);
    return tar::scan(source, [&](uint64_t offset) { tick(on_progress, offset); });
  });
}

nb::dict index_bytes(const nb::bytes& data) {
  return index_tar([&] {
    tar::MemorySource source(static_cast<const uint8_t*>(data.data()), data.size());
    return tar::scan(source);
  });
}

nb::tuple locate(const Input<uint32_t>& starts, const Input<uint64_t>& offsets, const Input<uint64_t>& sizes,
                 const Input<uint32_t>& field_ids, const Input<int64_t>& samples, const Input<uint32_t>& wanted) {
  std::vector<uint64_t> found_offsets(samples.size());
  std::vector<uint64_t> found_sizes(samples.size());
  std::vector<int32_t> choices(samples.size());
  const tar::IndexColumns index{view(starts), view(offsets), view(sizes), view(field_ids)};
  const tar::Located out{found_offsets.data(), found_sizes.data(), choices.data()};
  if (!tar::locate(index, view(samples), view(wanted), out)) {
    throw std::out_of_range("a sample, or the index itself, is out of bounds");
  }
  return nb::make_tuple(to_numpy(std::move(found_offsets)), to_numpy(std::move(found_sizes)),
                        to_numpy(std::move(choices)));
}

// The columns of one index as Python hands them over: where each array lies, and how long they are.
struct ColumnPointers {
  uint64_t starts, num_starts, offsets, sizes, field_ids, num_members;

  tar::IndexColumns columns() const {
    const auto at = [](uint64_t address) { return reinterpret_cast<const void*>(address); };
    return {.starts = {static_cast<const uint32_t*>(at(starts)), num_starts},
            .offsets = {static_cast<const uint64_t*>(at(offsets)), num_members},
            .sizes = {static_cast<const uint64_t*>(at(sizes)), num_members},
            .field_ids = {static_cast<const uint32_t*>(at(field_ids)), num_members}};
  }
};

using Table64 = nb::ndarray<const uint64_t, nb::shape<-1, 6>, nb::c_contig, nb::device::cpu>;
using Table32 = nb::ndarray<const uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::tuple locate_rows(const Table64& pointers, const Table32& wanted, const Input<int32_t>& shards,
                      const Input<int64_t>& samples) {
  const size_t num_shards = pointers.shape(0), count = samples.size();
  if (wanted.shape(0) != num_shards || shards.size() != count) {
    throw std::invalid_argument("pointers and wanted need a row a shard, shards and samples one length");
  }
  std::vector<uint64_t> offsets(count), sizes(count);
  std::vector<int32_t> choices(count);
  bool found = false;
  {
    // Short as it is: the training loop is let in.
    GilReleased released;
    std::vector<tar::IndexColumns> indexes;
    std::vector<std::span<const uint32_t>> fields;
    for (size_t i = 0; i < num_shards; ++i) {
      indexes.push_back(reinterpret_cast<const ColumnPointers*>(pointers.data())[i].columns());
      fields.emplace_back(wanted.data() + i * wanted.shape(1), wanted.shape(1));
    }
    const tar::LocateRows rows{indexes, fields, view(shards), view(samples)};
    found = tar::locate_rows(rows, {offsets.data(), sizes.data(), choices.data()});
  }
  if (!found) throw std::out_of_range("a sample, or an index itself, is out of bounds");
  return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(sizes)), to_numpy(std::move(choices)));
}

}  // namespace

void bind_tar(nb::module_& module) {
  module.def("index_file", &index_file, nb::arg("fd"), nb::arg("size"), nb::arg("on_progress").none() = nb::none());
  module.def("index_bytes", &index_bytes, nb::arg("data"));
  module.def("locate", &locate, nb::arg("starts"), nb::arg("offsets"), nb::arg("sizes"), nb::arg("field_ids"),
             nb::arg("samples"), nb::arg("wanted"));
  module.def("locate_rows", &locate_rows, nb::arg("pointers"), nb::arg("wanted"), nb::arg("shards"),
             nb::arg("samples"));
}

}  // namespace headrace
