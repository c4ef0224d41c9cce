#include "bind/bind.h"
#include "bind/gil.h"

NB_MODULE(_native, module) {
  module.doc() = "The native part of headrace: tar scan, reads, JPEG kernel, thread pool. Private; no Python logic.";
  // What a thread still holds when the interpreter ends is not a leak.
  nanobind::set_leak_warnings(false);
  headrace::GilReleased::watch_exit();
  headrace::bind_tar(module);
  headrace::bind_locate(module);
  headrace::bind_io(module);
  headrace::bind_reads(module);
  headrace::bind_kernel(module);
  headrace::bind_resample(module);
  headrace::bind_masks(module);
  headrace::bind_iou_crop(module);
  headrace::bind_png(module);
  headrace::bind_text(module);
  headrace::bind_random(module);
  headrace::bind_rows(module);
  headrace::bind_lock_probe(module);
}
