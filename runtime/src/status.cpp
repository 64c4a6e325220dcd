#include "status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace flashwright {

flashwright_status ok_status() {
    flashwright_status status;
    status.code = FLASHWRIGHT_OK;
    status.message[0] = '\0';
    return status;
}

flashwright_status make_status(flashwright_code code, const char *format, ...) {
    flashwright_status status;
    status.code = code;
    std::va_list arguments;
    va_start(arguments, format);
    if (std::vsnprintf(status.message, sizeof status.message, format, arguments) < 0) status.message[0] = '\0';
    va_end(arguments);
    return status;
}

void append(char *text, size_t size, const char *format, ...) {
    const size_t used = std::strlen(text);
    if (used + 1 >= size) return;
    std::va_list arguments;
    va_start(arguments, format);
    if (std::vsnprintf(text + used, size - used, format, arguments) < 0) text[used] = '\0';
    va_end(arguments);
}

}  // namespace flashwright
