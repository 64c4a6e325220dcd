// Text from outside, which may be no UTF-8, on its way into files.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace flashwright {

// What is no UTF-8 is replaced.
template <typename Json>
std::string dumped(const Json &value, int indent = -1) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// At most so many bytes, and no part of a character at the end.
inline std::string cut_text(std::string text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & kContinuationMask) == kContinuation) --bytes;
    return text.substr(0, bytes);
}

}  // namespace flashwright
