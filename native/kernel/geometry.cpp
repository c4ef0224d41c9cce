#include "kernel/geometry.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headrace {

std::optional<GeometryKind> geometry_kind(std::string_view name) {
  static constexpr std::pair<std::string_view, GeometryKind> kKinds[] = {
      {"full", GeometryKind::full},
      {"random_resized_crop", GeometryKind::random_resized_crop},
      {"resize_center_crop", GeometryKind::resize_center_crop},
      {"resize_random_crop", GeometryKind::resize_random_crop},
      {"center_crop", GeometryKind::center_crop},
      {"random_crop", GeometryKind::random_crop},
      {"boxes", GeometryKind::boxes},
  };
  const auto* found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](auto& kind) { return kind.first == name; });
  if (found == std::end(kKinds)) return std::nullopt;
  return found->second;
}

}  // namespace headrace
