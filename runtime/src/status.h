// Building the statuses that calls return.
#pragma once

#include "flashwright/flashwright.h"

namespace flashwright {

flashwright_status ok_status();

// A status with a formatted message, cut at the end of its buffer. Applications link the runtime without further
// libraries, hence printf formats.
flashwright_status make_status(flashwright_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

inline bool failed(const flashwright_status &status) { return status.code != FLASHWRIGHT_OK; }

// Appends to `text`, as far as it fits, and keeps it terminated.
void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace flashwright
