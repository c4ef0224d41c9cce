// The tar scanner on hostile bytes.
#include <cstring>
#include <vector>

#include "fuzz/target.h"
#include "tar/scan.h"
#include "tar/source.h"

namespace headrace {
namespace {

void check(const tar::Scan& scan, uint64_t size) {
  const tar::Members& members = scan.members;
  const size_t count = members.count();
  promise(members.offsets.size() == count && members.sizes.size() == count, "columns are of one length");
  promise(members.name_starts.size() == count + 1 && members.target_starts.size() == members.links.size() + 1,
          "names and targets have an end each");
  promise(scan.fault.offset <= size, "a fault lies in the file");
  for (size_t i = 0; i < count; ++i) {
    // Whoever reads a member trusts these two; the sum must not wrap around.
    promise(members.offsets[i] <= size && members.sizes[i] <= size - members.offsets[i], "a member lies in the file");
    promise(i == 0 || members.offsets[i] >= members.offsets[i - 1], "members come in order");
    promise(!members.name(i).empty(), "a member has a name");
  }
  for (size_t link = 0; link < members.links.size(); ++link) {
    promise(members.links[link] < count, "a link is a member");
    promise(link == 0 || members.links[link] > members.links[link - 1], "links come in order");
    promise(members.target(link).size() <= size, "a target is in the file");
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::tar::MemorySource source(data, size);
  headrace::check(headrace::tar::scan(source), size);
  return 0;
}
