// The tar scanner on hostile bytes, and the grouping of what it found.
#include <cstring>
#include <vector>

#include "fuzz/target.h"
#include "tar/group.h"
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
  }
  for (size_t link = 0; link < members.links.size(); ++link) {
    promise(members.links[link] < count, "a link is a member");
    promise(link == 0 || members.links[link] > members.links[link - 1], "links come in order");
    promise(members.target(link).size() <= size, "a target is in the file");
  }
}

void check(const tar::Samples& samples, const tar::Members& members, uint64_t size) {
  const size_t num_fields = samples.offsets.size();
  promise(samples.starts.back() == num_fields && samples.sizes.size() == num_fields &&
              samples.field_ids.size() == num_fields && samples.key_starts.size() == samples.count() + 1,
          "columns of samples fit each other");
  for (size_t sample = 0; sample < samples.count(); ++sample) {
    promise(samples.starts[sample] <= samples.starts[sample + 1], "samples come in order");
    promise(samples.key_starts[sample] < samples.key_starts[sample + 1], "a sample has a key");
  }
  for (size_t i = 0; i < num_fields; ++i) {
    promise(samples.field_ids[i] < samples.fields.size(), "a field has a name");
    promise(samples.offsets[i] <= size && samples.sizes[i] <= size - samples.offsets[i], "a field lies in the file");
  }
  for (const tar::ContentFault& fault : samples.faults) {
    promise(fault.sample < samples.count() && fault.member < members.count(), "a fault is of a sample");
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::tar::MemorySource source(data, size);
  const headrace::tar::Scan scan = headrace::tar::scan(source);
  headrace::check(scan, size);
  headrace::check(headrace::tar::group(scan.members), scan.members, size);
  return 0;
}
