// The statuses that calls return.
#pragma once

#include "flashwright/flashwright.h"

namespace flashwright {

flashwright_status ok_status();

// A status with a formatted message, truncated to its buffer. Uses printf formats, since the runtime needs no further
// libraries.
flashwright_status make_status(flashwright_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

inline bool failed(const flashwright_status &status) { return status.code != FLASHWRIGHT_OK; }

// Appends to `text` what fits in `size` bytes with the terminating zero.
void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace flashwright
