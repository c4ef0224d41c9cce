// Hard and symbolic links resolved to members of the same shard.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tar/scan.h"

namespace headrace::tar {

// A name without empty and `.` parts and with `..` taken back; nothing where it leaves the shard.
std::optional<std::string> normal_name(std::string_view name);

class LinkResolver {
 public:
  explicit LinkResolver(const Members& members);

  // The file that a link (a position in `members.links`) leads to, through other links; nothing where it leads outside
  // the shard, to no file, or in a circle. A hard link means the last such name before it, a symbolic one the last of
  // all.
  std::optional<uint32_t> resolve(size_t link) const;

 private:
  std::optional<uint32_t> target_of(size_t link) const;
  std::optional<uint32_t> find(const std::string& name, uint32_t before) const;

  const Members& members_;
  std::vector<std::pair<std::string, uint32_t>> by_name_;  // sorted
};

}  // namespace headrace::tar
