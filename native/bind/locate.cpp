#include "tar/locate.h"

#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "bind/bind.h"
#include "bind/columns.h"

namespace nb = nanobind;

namespace headrace {

namespace {

// The columns of an index as Python holds them; they live as long as this.
struct IndexArrays {
  Input<uint32_t> starts;
  Input<uint64_t> offsets;
  Input<uint64_t> sizes;
  Input<uint32_t> field_ids;

  tar::IndexColumns columns() const { return {view(starts), view(offsets), view(sizes), view(field_ids)}; }
};

class PythonShardFields {
 public:
  PythonShardFields(int32_t fd, const Input<uint32_t>& starts, const Input<uint64_t>& offsets,
                    const Input<uint64_t>& sizes, const Input<uint32_t>& field_ids,
                    const std::vector<Input<uint32_t>>& wanted)
      : arrays_{starts, offsets, sizes, field_ids}, fields_{fd, arrays_.columns(), {}} {
    for (const auto& entry : wanted) fields_.wanted.emplace_back(entry.data(), entry.data() + entry.size());
  }

  const tar::ShardFields& fields() const { return fields_; }

 private:
  IndexArrays arrays_;
  tar::ShardFields fields_;
};

nb::tuple locate(const Input<uint32_t>& starts, const Input<uint64_t>& offsets, const Input<uint64_t>& sizes,
                 const Input<uint32_t>& field_ids, const Input<int64_t>& samples, const Input<uint32_t>& wanted) {
  std::vector<uint64_t> found_offsets(samples.size());
  std::vector<uint64_t> found_sizes(samples.size());
  std::vector<int32_t> choices(samples.size());
  const IndexArrays index{starts, offsets, sizes, field_ids};
  const tar::Located out{found_offsets.data(), found_sizes.data(), choices.data()};
  if (!tar::locate(index.columns(), view(samples), view(wanted), out)) {
    throw std::out_of_range("a sample, or the index itself, is out of bounds");
  }
  return nb::make_tuple(to_numpy(std::move(found_offsets)), to_numpy(std::move(found_sizes)),
                        to_numpy(std::move(choices)));
}

nb::object place_samples(const Input<int64_t>& ends, const Input<int64_t>& ids) {
  tar::Placed placed;
  if (!tar::place_samples(view(ends), view(ids), placed)) throw std::out_of_range("a sample is in no shard");
  return nb::make_tuple(nb::cast(placed.shards), to_numpy(std::move(placed.places)),
                        to_numpy(std::move(placed.samples)));
}

// Rows without the field, of one entry.
auto absent_rows(const int32_t* choices, size_t num_rows) {
  std::vector<int64_t> absent;
  for (size_t row = 0; row < num_rows; ++row) {
    if (choices[row] < 0) absent.push_back(static_cast<int64_t>(row));
  }
  return to_numpy(std::move(absent));
}

// The GIL is kept throughout: this takes some microseconds, less than it may take to get it back.
nb::tuple locate_rows(const nb::sequence& shards, size_t num_entries, const Input<int32_t>& places,
                      const Input<int64_t>& samples) {
  const size_t count = samples.size(), all = num_entries * count;
  if (places.size() != count) throw std::invalid_argument("places and samples must have one length");
  std::vector<const tar::ShardFields*> fields;
  for (const nb::handle shard : shards) {
    fields.push_back(shard.is_none() ? nullptr : &nb::cast<const PythonShardFields&>(shard).fields());
  }
  std::vector<int32_t> fds(all), choices(all);
  std::vector<uint64_t> offsets(all), sizes(all);
  nb::list absent;
  for (size_t entry = 0; entry < num_entries; ++entry) {
    const size_t first = entry * count;
    const tar::LocatedRows out{fds.data() + first,
                               {offsets.data() + first, sizes.data() + first, choices.data() + first}};
    if (!tar::locate_rows({fields, view(places), view(samples)}, entry, out)) {
      throw std::out_of_range("a sample, or an index itself, is out of bounds");
    }
    absent.append(absent_rows(out.fields.choices, count));
  }
  return nb::make_tuple(
      to_numpy(std::move(fds), {num_entries, count}), to_numpy(std::move(offsets), {num_entries, count}),
      to_numpy(std::move(sizes), {num_entries, count}), to_numpy(std::move(choices), {num_entries, count}), absent);
}

}  // namespace

void bind_locate(nb::module_& module) {
  nb::class_<PythonShardFields>(module, "ShardFields")
      .def(nb::init<int32_t, const Input<uint32_t>&, const Input<uint64_t>&, const Input<uint64_t>&,
                    const Input<uint32_t>&, const std::vector<Input<uint32_t>>&>(),
           nb::arg("fd"), nb::arg("starts"), nb::arg("offsets"), nb::arg("sizes"), nb::arg("field_ids"),
           nb::arg("wanted"));
  module.def("locate", &locate, nb::arg("starts"), nb::arg("offsets"), nb::arg("sizes"), nb::arg("field_ids"),
             nb::arg("samples"), nb::arg("wanted"));
  module.def("place_samples", &place_samples, nb::arg("ends"), nb::arg("ids"));
  module.def("locate_rows", &locate_rows, nb::arg("shards"), nb::arg("num_entries"), nb::arg("places"),
             nb::arg("samples"));
}

}  // namespace headrace
