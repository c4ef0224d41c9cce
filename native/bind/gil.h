// Work without the GIL, also while Python ends.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace {

// Gives up the GIL for a scope. A thread that wants it back when the interpreter is about to end stops for good instead
// (as Python itself does from 3.14 on): before, Python ended such a thread by unwinding its stack, through frames that
// do not allow it, and the whole process died.
class GilReleased {
 public:
  GilReleased();
  ~GilReleased();
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

  // Has this noticed when the interpreter ends; called once, when the module is made.
  static void watch_exit();

 private:
  PyThreadState* state_;
};

}  // namespace headrace
