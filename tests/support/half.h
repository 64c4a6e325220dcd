// IEEE binary16 by its definition.
#pragma once

#include <cstdint>

namespace flashwright::test {

double half_value(std::uint16_t bits);
// The nearest, ties to even.
std::uint16_t half_bits(double value);
inline double rounded_to_half(double value) { return half_value(half_bits(value)); }

}  // namespace flashwright::test
