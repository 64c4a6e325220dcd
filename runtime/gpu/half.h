// f16 numbers on the host, as their bits.
#pragma once

#include <cstdint>

namespace flashwright {

// Exact.
float half_value(std::uint16_t bits);
// Rounds to nearest, ties to even.
std::uint16_t nearest_half(double value);

}  // namespace flashwright
