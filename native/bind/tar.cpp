#include <nanobind/stl/string.h>

#include <functional>
#include <utility>
#include <vector>

#include "bind/bind.h"
#include "bind/columns.h"
#include "bind/gil.h"
#include "tar/group.h"
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

}  // namespace

void bind_tar(nb::module_& module) {
  module.def("index_file", &index_file, nb::arg("fd"), nb::arg("size"), nb::arg("on_progress").none() = nb::none());
  module.def("index_bytes", &index_bytes, nb::arg("data"));
}

}  // namespace headrace
