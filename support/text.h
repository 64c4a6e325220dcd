// Text and numbers for files. Text from outside may be invalid UTF-8.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace flashwright {

// Invalid UTF-8 is replaced.
template <typename Json>
std::string dumped(const Json &value, int indent = -1) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// To six digits, which is more than the precision of a time or a model.
inline double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }
inline nlohmann::ordered_json shortened(double value) {
    return nlohmann::ordered_json::parse(fmt::format("{:.6g}", value));
}

// At most `bytes` bytes, ending with a whole character.
inline std::string cut_text(std::string text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & kContinuationMask) == kContinuation) --bytes;
    return text.substr(0, bytes);
}

}  // namespace flashwright
