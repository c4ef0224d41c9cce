#include "kernel/workspace.h"

namespace headrace {

Workspace& Workspace::of_this_thread() {
  thread_local Workspace workspace;
  return workspace;
}

}  // namespace headrace
