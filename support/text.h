// Text and numbers on their way into files; text from outside may be no UTF-8.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace flashwright {

// What is no UTF-8 is replaced.
template <typename Json>
std::string dumped(const Json &value, int indent = -1) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Six digits, which say more than a time or a model knows.
inline nlohmann::ordered_json shortened(double value) {
    return nlohmann::ordered_json::parse(fmt::format("{:.6g}", value));
}

// At most so many bytes, and no part of a character at the end.
inline std::string cut_text(std::string text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & kContinuationMask) == kContinuation) --bytes;
    return text.substr(0, bytes);
}

}  // namespace flashwright
