// One function a part: each adds its own names to headrace._native.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace {
void bind_tar(nanobind::module_& module);
void bind_locate(nanobind::module_& module);
void bind_io(nanobind::module_& module);
void bind_reads(nanobind::module_& module);
void bind_kernel(nanobind::module_& module);
void bind_resample(nanobind::module_& module);
void bind_masks(nanobind::module_& module);
void bind_iou_crop(nanobind::module_& module);
void bind_png(nanobind::module_& module);
void bind_text(nanobind::module_& module);
void bind_random(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_lock_probe(nanobind::module_& module);
}  // namespace headrace
