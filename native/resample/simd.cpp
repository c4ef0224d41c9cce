#include "resample/simd.h"

#include <vector>

namespace headrace {
namespace {

std::vector<const SimdPath*> find_paths() {
  std::vector<const SimdPath*> paths;
  paths.push_back(&portable_path);
  return paths;
}

}  // namespace

std::span<const SimdPath* const> simd_paths() {
  static const std::vector<const SimdPath*> paths = find_paths();
  return paths;
}

}  // namespace headrace
