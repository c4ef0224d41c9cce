// Hooks for property tests: the passes of the kernel one by one, on a chosen SIMD path.
#include "resample/resample.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bind/bind.h"
#include "resample/layout.h"

namespace nb = nanobind;

namespace headrace {
namespace {

using PixelArray = nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Box = std::tuple<int, int, int, int>;  // top, left, height, width

std::vector<std::string> path_names() {
  std::vector<std::string> names;
  for (const SimdPath* path : simd_paths()) names.emplace_back(path->name);
  return names;
}

const SimdPath& path_named(const std::string& name) {
  if (name == "auto") return best_path();
  for (const SimdPath* path : simd_paths()) {
    if (path->name == name) return *path;
  }
  throw nb::value_error(("no SIMD path named '" + name + "' on this machine: see simd_paths()").c_str());
}

Pixels pixels_of(const PixelArray& array) {
  const int channels = static_cast<int>(array.shape(2));
  if (channels != 3 && channels != 4) throw nb::value_error("pixels must have shape (H, W, 3) or (H, W, 4)");
  if (array.shape(0) == 0 || array.shape(1) == 0) throw nb::value_error("pixels must not be empty");
  return {array.data(), static_cast<ptrdiff_t>(array.shape(1)) * channels, channels};
}

Filter filter_of(int number) {
  if (number != 0 && number != 2 && number != 3) {
    throw nb::value_error("filter must be 0 (nearest), 2 (bilinear) or 3 (bicubic)");
  }
  return static_cast<Filter>(number);
}

// A copy of `region` alone, in a block of exactly its size, so that a sanitiser sees each read outside it.
std::unique_ptr<uint8_t[]> cut(const Pixels& pixels, const Window& region) {
  const size_t row_bytes = static_cast<size_t>(region.width) * pixels.bytes_per_pixel;
  std::unique_ptr<uint8_t[]> copy(new uint8_t[row_bytes * region.height]);
  for (int y = 0; y < region.height; ++y) {
    const uint8_t* row = pixels.data + (region.top + y) * pixels.stride + region.left * pixels.bytes_per_pixel;
    std::memcpy(copy.get() + y * row_bytes, row, row_bytes);
  }
  return copy;
}

nb::ndarray<nb::numpy, uint8_t> drop_fourth(const std::vector<uint8_t>& rgbx, int width, int height) {
  auto* rgb = new uint8_t[static_cast<size_t>(width) * height * 3];
  nb::capsule owner(rgb, [](void* memory) noexcept { delete[] static_cast<uint8_t*>(memory); });
  kPortablePath.pack(rgbx.data(), width * height, false, rgb);
  return nb::ndarray<nb::numpy, uint8_t>(
      rgb, {static_cast<size_t>(height), static_cast<size_t>(width), static_cast<size_t>(3)}, owner);
}

nb::ndarray<nb::numpy, uint8_t> resize_pixels(const PixelArray& array, int out_height, int out_width,
                                              std::optional<Box> box, int filter_number, const std::string& path) {
  const Pixels pixels = pixels_of(array);
  const Filter filter = filter_of(filter_number);
  const int height = static_cast<int>(array.shape(0)), width = static_cast<int>(array.shape(1));
  const auto [top, left, rows, columns] = box.value_or(Box{0, 0, out_height, out_width});
  const bool inside =
      top >= 0 && left >= 0 && rows > 0 && columns > 0 && top <= out_height - rows && left <= out_width - columns;
  if (!inside) throw nb::value_error("window (top, left, height, width) must lie in out_height x out_width");
  const Window out{left, top, columns, rows};
  const Window region = source_window(width, height, out_width, out_height, out, filter);
  const std::unique_ptr<uint8_t[]> copy = cut(pixels, region);
  const Pixels part{copy.get(), static_cast<ptrdiff_t>(region.width) * pixels.bytes_per_pixel, pixels.bytes_per_pixel};
  std::vector<uint8_t> rgbx(static_cast<size_t>(rows) * columns * 4);
  Scratch scratch(path_named(path));
  resize(part, region, width, height, out_width, out_height, out, filter, scratch, rgbx.data(),
         static_cast<ptrdiff_t>(columns) * 4);
  return drop_fourth(rgbx, columns, rows);
}

void lay_out_pixels(const PixelArray& array, const AnyArray& out, bool flip, bool channels_last,
                    std::optional<AnyArray> lut, const std::string& path) {
  const Pixels pixels = pixels_of(array);
  const int height = static_cast<int>(array.shape(0)), width = static_cast<int>(array.shape(1));
  const int element_size = static_cast<int>(out.itemsize());
  if (element_size != 1 && element_size != 2 && element_size != 4) {
    throw nb::value_error("out must have elements of 1, 2 or 4 bytes");
  }
  if (out.size() != static_cast<size_t>(height) * width * 3) throw nb::value_error("out has the wrong size");
  if (lut ? lut->size() != 768 || lut->itemsize() != out.itemsize() : element_size != 1) {
    throw nb::value_error("lut must have shape (3, 256) and elements as large as those of out");
  }
  lay_out(pixels, width, height, flip, channels_last, element_size, lut ? lut->data() : nullptr,
          const_cast<void*>(static_cast<const void*>(out.data())), path_named(path));
}

}  // namespace

void bind_resample(nb::module_& module) {
  using namespace nb::literals;
  module.def("simd_paths", &path_names);
  module.def("resize_pixels", &resize_pixels, "pixels"_a, "out_height"_a, "out_width"_a, nb::kw_only(),
             "window"_a = nb::none(), "filter"_a = 2, "path"_a = "auto");
  module.def("lay_out_pixels", &lay_out_pixels, "pixels"_a, "out"_a, nb::kw_only(), "flip"_a = false,
             "channels_last"_a = false, "lut"_a = nb::none(), "path"_a = "auto");
}

}  // namespace headrace
