#include "jpeg/failure.h"

#include <cstring>
#include <iterator>

// libjpeg's own texts, listed as jerror.h offers: its jerror.o, which writes to stderr, then stays out of the module
// (in Debian's static library that object cannot be linked into one).
#define JMESSAGE(code, text) text,
#define JCOPYRIGHT_SHORT ""
#define JVERSION ""
static const char* const kMessages[] = {
#undef JERROR_H
#include <jerror.h>
    nullptr};

namespace headrace {
namespace {

Status status_of(int code) {
  switch (code) {
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_ARITH_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NO_SOI:
      return Status::unsupported;
    case JERR_IMAGE_TOO_BIG:
    case JERR_NO_BACKING_STORE:
    case JERR_OUT_OF_MEMORY:
    case JERR_WIDTH_OVERFLOW:
      return Status::over_limit;
    default:
      return Status::corrupt;
  }
}

Failure* of(j_common_ptr cinfo) { return static_cast<Failure*>(cinfo->client_data); }

}  // namespace

Failure::Failure() {
  manager_.error_exit = error_exit;
  manager_.emit_message = emit_message;
  manager_.output_message = output_message;
  manager_.format_message = format_message;
  manager_.reset_error_mgr = reset;
  manager_.jpeg_message_table = kMessages;
  manager_.last_jpeg_message = static_cast<int>(std::size(kMessages)) - 2;
}

void Failure::raise(j_common_ptr cinfo, Status status, const char* message) {
  Failure* failure = of(cinfo);
  failure->status_ = status;
  std::strncpy(failure->text_, message, sizeof failure->text_ - 1);
  std::longjmp(failure->jump_, 1);
}

void Failure::error_exit(j_common_ptr cinfo) {
  char text[JMSG_LENGTH_MAX];
  cinfo->err->format_message(cinfo, text);
  raise(cinfo, status_of(cinfo->err->msg_code), text);
}

// Warnings (a level below 0) are damage that libjpeg passes over, as Pillow does too.
void Failure::emit_message(j_common_ptr cinfo, int level) {
  if (level < 0) ++cinfo->err->num_warnings;
}

void Failure::output_message(j_common_ptr) {}

// The first four parameters are numbers, or together a text where the message wants one.
void Failure::format_message(j_common_ptr cinfo, char* text) {
  const jpeg_error_mgr& error = *cinfo->err;
  const bool known = error.msg_code > 0 && error.msg_code <= error.last_jpeg_message;
  const char* format = known ? error.jpeg_message_table[error.msg_code] : "libjpeg error %d";
  if (!known) {
    std::snprintf(text, JMSG_LENGTH_MAX, "libjpeg error %d", error.msg_code);
  } else if (std::strstr(format, "%s") != nullptr) {
    std::snprintf(text, JMSG_LENGTH_MAX, format, error.msg_parm.s);
  } else {
    const int* number = error.msg_parm.i;
    std::snprintf(text, JMSG_LENGTH_MAX, format, number[0], number[1], number[2], number[3], number[4], number[5],
                  number[6], number[7]);
  }
}

void Failure::reset(j_common_ptr cinfo) {
  cinfo->err->num_warnings = 0;
  cinfo->err->msg_code = 0;
}

}  // namespace headrace
