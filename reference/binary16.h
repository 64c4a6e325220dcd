// IEEE binary16 (f16) by its definition.
#pragma once

#include <cstdint>

namespace flashwright {

double binary16_value(std::uint16_t bits);
// The nearest, ties to even.
std::uint16_t binary16_bits(double value);
inline double rounded_to_binary16(double value) { return binary16_value(binary16_bits(value)); }

}  // namespace flashwright
