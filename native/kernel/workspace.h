// What a thread keeps from one image to the next.
#pragma once
#include "jpeg/decoder.h"
#include "jpeg/surface.h"
#include "resample/scratch.h"

namespace headrace {

struct Workspace {
  Decoder decoder;
  Scratch scratch;
  Surface decoded;  // what came out of the decoder
  Surface upright;  // the same, turned
  Surface mirrored;
  Surface resized;
  Surface encoded;  // an image that was copied from the page cache

  void trim() {
    decoded.trim();
    upright.trim();
    mirrored.trim();
    resized.trim();
    encoded.trim();
  }

  // The calling thread's own. Threads of the pool and callers that do the work themselves are alike here.
  static Workspace& of_this_thread();
};

}  // namespace headrace
