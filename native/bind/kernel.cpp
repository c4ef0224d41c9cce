#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include "bind/bind.h"
#include "bind/gil.h"
#include "bind/kernel_arguments.h"
#include "kernel/whole.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headrace {
namespace {

constexpr int kMaxThreads = 1024;

std::unique_ptr<Pool> make_pool(int num_threads) {
  if (num_threads < 0 || num_threads > kMaxThreads) {
    refuse("num_threads must be between 0 and " + std::to_string(kMaxThreads) + ", got " + std::to_string(num_threads));
  }
  return std::make_unique<Pool>(num_threads);
}

// What Python holds: ends its threads without the GIL.
class PythonPool {
 public:
  explicit PythonPool(int num_threads) : pool_(make_pool(num_threads)) {}
  ~PythonPool() {
    const GilReleased released;
    pool_.reset();
  }
  PythonPool(const PythonPool&) = delete;
  PythonPool& operator=(const PythonPool&) = delete;

  int num_threads() const { return pool_->num_threads(); }

  void close() {
    pool_->adopt();
    const GilReleased released;
    pool_->close();
  }

  // Calls `work` with the pool and without the GIL.
  template <typename Work>
  void use(const Work& work) {
    pool_->adopt();
    bool done;
    {
      const GilReleased released;
      done = work(*pool_);
    }
    if (!done) refuse("the pool is closed");
  }

 private:
  std::unique_ptr<Pool> pool_;
};

template <typename Element>
nb::object array_of(const Element* data, std::initializer_list<size_t> shape, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const Element>(data, shape, owner));
}

nb::object status_of(nb::handle self) {
  const auto& status = nb::cast<const Report&>(self).status();
  return array_of(status.data(), {status.size()}, self);
}

nb::object params_of(nb::handle self) {
  const auto& params = nb::cast<const Report&>(self).params();
  return array_of(reinterpret_cast<const int32_t*>(params.data()), {params.size(), Report::Params{}.size()}, self);
}

nb::list failed_of(const Report& report) {
  nb::list failed;
  for (size_t row = 0; row < report.status().size(); ++row) {
    if (report.status()[row] != static_cast<uint8_t>(Status::ok)) failed.append(row);
  }
  return failed;
}

const std::string& message_of(const Report& report, int64_t row) {
  if (row < 0 || static_cast<size_t>(row) >= report.status().size()) {
    refuse("row must lie in 0.." + std::to_string(report.status().size()) + " (exclusive), got " + std::to_string(row));
  }
  return report.message(static_cast<size_t>(row));
}

std::unique_ptr<Report> python_run_jpegs(PythonPool& pool, const Geometry& geometry, const Encoded& addresses,
                                         const InputArray& sizes, const InputArray& keys, const OutputArray& out,
                                         const std::optional<InputArray>& rows, const std::optional<InputArray>& lut,
                                         const std::optional<InputArray>& boxes, const std::optional<InputArray>& flips,
                                         bool channels_last) {
  const JpegInputs jpegs = checked_jpegs(addresses, sizes);
  const RowInputs inputs = checked_rows(geometry, jpegs.count, keys, boxes, flips);
  const Destination destination = checked_destination(geometry, jpegs.count, out, rows, lut, channels_last);
  auto report = std::make_unique<Report>(jpegs.count);
  pool.use([&](Pool& threads) { return run_jpegs(threads, geometry, jpegs, inputs, destination, *report); });
  return report;
}

std::unique_ptr<Report> python_run_pixels(PythonPool& pool, const Geometry& geometry, const InputArray& addresses,
                                          const InputArray& heights, const InputArray& widths,
                                          const InputArray& strides, const InputArray& keys, const OutputArray& out,
                                          const std::optional<InputArray>& rows, const std::optional<InputArray>& lut,
                                          const std::optional<InputArray>& boxes,
                                          const std::optional<InputArray>& flips, bool channels_last) {
  const PixelInputs pixels = checked_pixels(addresses, heights, widths, strides);
  const RowInputs inputs = checked_rows(geometry, pixels.count, keys, boxes, flips);
  const Destination destination = checked_destination(geometry, pixels.count, out, rows, lut, channels_last);
  auto report = std::make_unique<Report>(pixels.count);
  pool.use([&](Pool& threads) { return run_pixels(threads, geometry, pixels, inputs, destination, *report); });
  return report;
}

void check_alike(const Geometry& geometry, const Geometry& first) {
  const DecodeLimits &own = geometry.limits, &others = first.limits;
  const bool alike = geometry.apply_exif == first.apply_exif && own.pixels == others.pixels &&
                     own.scans == others.scans && own.decoder_bytes == others.decoder_bytes;
  if (!alike || geometry.dct_scaling) {
    refuse("geometries of views must have the same limits and orientation, and no dct_scaling");
  }
}

nb::list python_run_views(PythonPool& pool, const Encoded& addresses, const InputArray& sizes,
                          const nb::list& geometries, const nb::list& keys, const nb::list& outs, const nb::list& luts,
                          const std::optional<InputArray>& rows, bool channels_last) {
  const JpegInputs jpegs = checked_jpegs(addresses, sizes);
  const size_t count = geometries.size();
  if (count == 0 || keys.size() != count || outs.size() != count || luts.size() != count) {
    refuse("geometries, keys, outs and luts must be lists of one entry a view, one view at least");
  }
  std::vector<View> views;
  nb::list reports;
  for (size_t view = 0; view < count; ++view) {
    const auto& geometry = nb::cast<const Geometry&>(geometries[view]);
    check_alike(geometry, nb::cast<const Geometry&>(geometries[0]));
    const std::optional<InputArray> lut =
        luts[view].is_none() ? std::nullopt : std::optional(nb::cast<InputArray>(luts[view]));
    auto report = std::make_unique<Report>(jpegs.count);
    views.push_back({.geometry = &geometry,
                     .inputs = checked_rows(geometry, jpegs.count, nb::cast<InputArray>(keys[view]), {}, {}),
                     .destination = checked_destination(geometry, jpegs.count, nb::cast<OutputArray>(outs[view]), rows,
                                                        lut, channels_last),
                     .report = report.get()});
    reports.append(std::move(report));
  }
  pool.use([&](Pool& threads) { return run_views(threads, jpegs, views); });
  return reports;
}

// Hands the pixels of an image to numpy.
nb::object image_array(WholeImage& image) {
  if (image.pixels == nullptr) return nb::none();
  uint8_t* pixels = image.pixels.release();
  const nb::capsule owner(pixels, [](void* memory) noexcept { delete[] static_cast<uint8_t*>(memory); });
  const std::initializer_list<size_t> shape = {static_cast<size_t>(image.size.height),
                                               static_cast<size_t>(image.size.width), 3};
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(pixels, shape, owner));
}

nb::tuple python_decode_full(PythonPool& pool, const Encoded& addresses, const InputArray& sizes, bool apply_exif,
                             int64_t max_pixels, int max_scans, int64_t max_decoder_bytes) {
  const JpegInputs jpegs = checked_jpegs(addresses, sizes);
  const DecodeLimits limits = checked_limits(max_pixels, max_scans, max_decoder_bytes);
  auto report = std::make_unique<Report>(jpegs.count);
  std::vector<WholeImage> images(jpegs.count);
  pool.use([&](Pool& threads) { return decode_whole(threads, jpegs, apply_exif, limits, images, *report); });
  nb::list arrays;
  for (WholeImage& image : images) arrays.append(image_array(image));
  return nb::make_tuple(arrays, std::move(report));
}

template <typename Element>
nb::object owned_array(std::vector<Element>&& values, size_t columns) {
  auto kept = std::make_unique<std::vector<Element>>(std::move(values));
  Element* data = kept->data();
  const size_t count = kept->size() / std::max<size_t>(columns, 1);
  const nb::capsule owner(kept.release(),
                          [](void* vector) noexcept { delete static_cast<std::vector<Element>*>(vector); });
  if (columns == 0) return nb::cast(nb::ndarray<nb::numpy, Element>(data, {count}, owner));
  return nb::cast(nb::ndarray<nb::numpy, Element>(data, {count, columns}, owner));
}

nb::tuple python_probe(const Encoded& addresses, const InputArray& sizes, bool apply_exif) {
  const JpegInputs jpegs = checked_jpegs(addresses, sizes);
  constexpr size_t kColumns = Probe{}.size();
  std::vector<int32_t> headers(jpegs.count * kColumns);
  std::vector<uint8_t> status(jpegs.count);
  {
    const GilReleased released;
    probe_headers(jpegs, apply_exif, reinterpret_cast<Probe*>(headers.data()), status.data());
  }
  return nb::make_tuple(owned_array(std::move(headers), kColumns), owned_array(std::move(status), 0));
}

void bind_constants(nb::module_& module) {
  module.attr("OK") = static_cast<int>(Status::ok);
  module.attr("UNSUPPORTED") = static_cast<int>(Status::unsupported);
  module.attr("CORRUPT") = static_cast<int>(Status::corrupt);
  module.attr("OVER_LIMIT") = static_cast<int>(Status::over_limit);
  module.attr("NEEDS_FULL") = static_cast<int>(Status::needs_full);
  module.attr("UNREAD") = static_cast<int>(Status::unread);
  module.attr("FILTER_NEAREST") = static_cast<int>(Filter::nearest);
  module.attr("FILTER_BILINEAR") = static_cast<int>(Filter::bilinear);
  module.attr("FILTER_BICUBIC") = static_cast<int>(Filter::bicubic);
}

void bind_geometry(nb::module_& module) {
  using Range = std::pair<double, double>;
  const Geometry usual;
  nb::class_<Geometry>(module, "Geometry")
      .def(
          "__init__",
          [](Geometry* self, std::string kind, int height, int width, int filter, Range scale, Range ratio,
             Range log_ratio, int resize_height, int resize_width, int max_size, int64_t crop_op,
             double flip_probability, int64_t flip_op, bool flip_first, bool apply_exif, bool dct_scaling,
             int64_t max_pixels, int max_scans, int64_t max_decoder_bytes) {
            new (self) Geometry(
                checked_geometry({std::move(kind), height, width, filter, scale, ratio, log_ratio, resize_height,
                                  resize_width, max_size, crop_op, flip_probability, flip_op, flip_first, apply_exif,
                                  dct_scaling, max_pixels, max_scans, max_decoder_bytes}));
          },
          nb::kw_only(), "kind"_a, "height"_a, "width"_a, "filter"_a = static_cast<int>(usual.filter),
          "scale"_a = Range(usual.scale[0], usual.scale[1]), "ratio"_a = Range(usual.ratio[0], usual.ratio[1]),
          "log_ratio"_a = Range(usual.log_ratio[0], usual.log_ratio[1]), "resize_height"_a = 0, "resize_width"_a = 0,
          "max_size"_a = 0, "crop_op"_a = 0, "flip_probability"_a = 0.0, "flip_op"_a = 0, "flip_first"_a = false,
          "apply_exif"_a = false, "dct_scaling"_a = false, "max_pixels"_a = usual.limits.pixels,
          "max_scans"_a = usual.limits.scans, "max_decoder_bytes"_a = usual.limits.decoder_bytes);
}

void bind_classes(nb::module_& module) {
  nb::class_<PythonPool>(module, "Pool")
      .def(nb::init<int>(), "num_threads"_a)
      .def_prop_ro("num_threads", &PythonPool::num_threads)
      .def("close", &PythonPool::close)
      .def_static("set_turn", &Pool::set_turn, "turn"_a);
  nb::class_<Report>(module, "BatchReport")
      .def_prop_ro("status", &status_of)
      .def_prop_ro("params", &params_of)
      .def_prop_ro("failed", &failed_of)
      .def("message", &message_of, "row"_a);
}

void bind_functions(nb::module_& module) {
  const DecodeLimits limits;
  module.def("run_jpegs", &python_run_jpegs, "pool"_a, "geometry"_a, "addresses"_a, "sizes"_a, "keys"_a, "out"_a,
             "rows"_a = nb::none(), "lut"_a = nb::none(), "boxes"_a = nb::none(), "flips"_a = nb::none(),
             "channels_last"_a = false);
  module.def("run_pixels", &python_run_pixels, "pool"_a, "geometry"_a, "addresses"_a, "heights"_a, "widths"_a,
             "strides"_a, "keys"_a, "out"_a, "rows"_a = nb::none(), "lut"_a = nb::none(), "boxes"_a = nb::none(),
             "flips"_a = nb::none(), "channels_last"_a = false);
  module.def("run_views", &python_run_views, "pool"_a, "addresses"_a, "sizes"_a, "geometries"_a, "keys"_a, "outs"_a,
             "luts"_a, "rows"_a = nb::none(), "channels_last"_a = false);
  module.def("decode_full", &python_decode_full, "pool"_a, "addresses"_a, "sizes"_a, "apply_exif"_a = false,
             "max_pixels"_a = limits.pixels, "max_scans"_a = limits.scans,
             "max_decoder_bytes"_a = limits.decoder_bytes);
  module.def("probe", &python_probe, "addresses"_a, "sizes"_a, "apply_exif"_a = false);
}

}  // namespace

void bind_kernel(nb::module_& module) {
  bind_constants(module);
  bind_geometry(module);
  bind_classes(module);
  bind_functions(module);
}

}  // namespace headrace
