// How libjpeg's errors come back: it calls error_exit, which must not return, so control jumps to where the call was
// guarded. Between the two there are only C frames and lambdas that own nothing.
#pragma once
#include <csetjmp>

#include "jpeg/libjpeg.h"
#include "jpeg/outcome.h"

namespace headrace {

class Failure {
 public:
  Failure();
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

  jpeg_error_mgr* manager() { return &manager_; }

  // Calls `work`; false when libjpeg gave up inside. `work` and what it calls must own nothing that wants destroying.
  template <typename Work>
  bool guard(const Work& work) {
    if (setjmp(jump_) != 0) return false;
    work();
    return true;
  }

  // Damage passed over in this image so far.
  long num_warnings() const { return manager_.num_warnings; }

  // What the last guarded call failed with.
  Outcome outcome() const { return {.status = status_, .message = text_}; }

  // For our own managers, called from inside libjpeg: gives up with a status and a message.
  [[noreturn]] static void raise(j_common_ptr cinfo, Status status, const char* message);

 private:
  [[noreturn]] static void error_exit(j_common_ptr cinfo);
  static void emit_message(j_common_ptr cinfo, int level);
  static void output_message(j_common_ptr cinfo);
  static void format_message(j_common_ptr cinfo, char* text);
  static void reset(j_common_ptr cinfo);

  jpeg_error_mgr manager_ = {};
  jmp_buf jump_;
  Status status_ = Status::ok;
  char text_[JMSG_LENGTH_MAX] = {};
};

}  // namespace headrace
