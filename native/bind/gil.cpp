#include "bind/gil.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace nb = nanobind;

namespace headrace {
namespace {

std::atomic<bool> python_ends = false;
std::atomic<int> num_returning = 0;  // threads between their look at `python_ends` and having the GIL

// Runs after the threads that Python waits for have ended, and before it takes the GIL for good.
void end() {
  python_ends = true;
  PyThreadState* state = PyEval_SaveThread();
  // Bounded: after a fork, threads that are not in this process may be counted.
  for (int i = 0; i < 2000 && num_returning > 0; ++i) std::this_thread::sleep_for(std::chrono::microseconds(100));
  PyEval_RestoreThread(state);
}

}  // namespace

GilReleased::GilReleased() : state_(python_ends ? nullptr : PyEval_SaveThread()) {}

GilReleased::~GilReleased() {
  if (state_ == nullptr) return;
  ++num_returning;
  if (python_ends) {
    --num_returning;
    for (;;) pause();
  }
  PyEval_RestoreThread(state_);
  --num_returning;
}

void GilReleased::watch_exit() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(end)); }

}  // namespace headrace
