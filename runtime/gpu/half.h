// Numbers in f16, as their bits, on the host.
#pragma once

#include <cstdint>

namespace flashwright {

// Exactly.
float half_value(std::uint16_t bits);
// The nearest, ties to even.
std::uint16_t nearest_half(double value);

}  // namespace flashwright
