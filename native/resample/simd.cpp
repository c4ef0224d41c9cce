#include "resample/simd.h"

#include <vector>

namespace headrace {
namespace {

std::vector<const SimdPath*> find_paths() {
  std::vector<const SimdPath*> paths;
#if defined(__x86_64__)
  // VBMI2 stands for Ice Lake, Zen 4 and later: processors before them lower their clock for 512-bit registers.
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi2")) {
    paths.push_back(&kAvx512Path);
  }
  if (__builtin_cpu_supports("avx2")) paths.push_back(&kAvx2Path);
#endif
#if defined(__aarch64__)
  paths.push_back(&kNeonPath);  // every aarch64 processor has it
#endif
  paths.push_back(&kPortablePath);
  return paths;
}

}  // namespace

std::span<const SimdPath* const> simd_paths() {
  static const std::vector<const SimdPath*> paths = find_paths();
  return paths;
}

}  // namespace headrace
