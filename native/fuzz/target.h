// What every fuzz target defines, and libFuzzer or standalone_main.cpp calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace headrace {

// Ends the process where a promise is broken that no sanitiser knows of.
inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "Broken promise: %s\n", what);
  std::abort();
}

}  // namespace headrace
