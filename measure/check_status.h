// Errors of the library as exceptions.
#pragma once

#include "flashwright/flashwright.h"

#include <stdexcept>

namespace flashwright {

// Throws the library's message.
inline void check(const flashwright_status &status) {
    if (status.code != FLASHWRIGHT_OK) {
        throw std::runtime_error(status.message);
    }
}

}  // namespace flashwright
