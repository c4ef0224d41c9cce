#include "tar/links.h"

#include <algorithm>
#include <limits>

namespace headrace::tar {

namespace {
constexpr int kLongestChain = 40;  // as Linux follows symbolic links
}

std::optional<std::string> normal_name(std::string_view name) {
  std::vector<std::string_view> parts;
  const bool absolute = name.starts_with('/');
  while (!name.empty()) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(slash == std::string_view::npos ? name.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  std::string normal = absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) normal += '/';
    normal += parts[i];
  }
  return normal;
}

LinkResolver::LinkResolver(const Members& members) : members_(members) {
  if (members.links.empty()) return;
  for (size_t i = 0; i < members.count(); ++i) {
    if (auto name = normal_name(members.name(i))) by_name_.emplace_back(std::move(*name), static_cast<uint32_t>(i));
  }
  std::sort(by_name_.begin(), by_name_.end());
}

std::optional<uint32_t> LinkResolver::find(const std::string& name, uint32_t before) const {
  auto after = std::lower_bound(by_name_.begin(), by_name_.end(), std::pair(name, before));
  if (after == by_name_.begin() || std::prev(after)->first != name) return std::nullopt;
  return std::prev(after)->second;
}

std::optional<uint32_t> LinkResolver::target_of(size_t link) const {
  const uint32_t member = members_.links[link];
  const std::string_view target = members_.target(link);
  if (members_.types[member] == MemberType::kHardLink) {
    const auto name = normal_name(target);
    return name ? find(*name, member) : std::nullopt;
  }
  std::string path;
  if (!target.starts_with('/')) {
    const std::string_view own = members_.name(member);
    path = own.substr(0, own.rfind('/') + 1);  // npos + 1 is 0
  }
  path += target;
  const auto name = normal_name(path);
  return name ? find(*name, std::numeric_limits<uint32_t>::max()) : std::nullopt;
}

std::optional<uint32_t> LinkResolver::resolve(size_t link) const {
  for (int step = 0; step < kLongestChain; ++step) {
    const auto member = target_of(link);
    if (!member) return std::nullopt;
    if (members_.types[*member] == MemberType::kFile) return member;
    const auto next = std::lower_bound(members_.links.begin(), members_.links.end(), *member);
    if (next == members_.links.end() || *next != *member) return std::nullopt;
    link = static_cast<size_t>(next - members_.links.begin());
  }
  return std::nullopt;
}

}  // namespace headrace::tar
