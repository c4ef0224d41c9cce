#include "bind/bind.h"

NB_MODULE(_native, module) {
  module.doc() = "The native part of headrace: tar scan, reads, JPEG kernel, thread pool. Private; no Python logic.";
  headrace::bind_tar(module);
  headrace::bind_io(module);
  headrace::bind_kernel(module);
  headrace::bind_resample(module);
}
