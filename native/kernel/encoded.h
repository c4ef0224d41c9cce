// The encoded bytes of the images of a batch: in memory, or to be copied from the page cache.
#pragma once
#include <cstdint>
#include <span>

#include "kernel/batch.h"
#include "kernel/workspace.h"

namespace headrace {

// The bytes of an image; those from the page cache stay in the workspace until the next image. They were not to be had
// where the outcome is not OK.
Outcome encoded_bytes(const JpegInputs& jpegs, size_t index, Workspace& workspace, std::span<const uint8_t>& bytes);

}  // namespace headrace
