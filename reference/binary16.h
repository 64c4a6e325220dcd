// IEEE binary16 (f16) by its definition.
#pragma once

#include "element.h"

#include <cstdint>

namespace flashwright {

inline double binary16_value(std::uint16_t bits) { return value_of_bits(bits, 10); }
inline std::uint16_t binary16_bits(double value) { return nearest_bits(value, 10); }
inline double rounded_to_binary16(double value) { return binary16_value(binary16_bits(value)); }

}  // namespace flashwright
