// Elements of tensors as numbers, by the formats in kernels/dtype.h.
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>

namespace flashwright {

// Floating-point numbers of 16 bits by the definition of IEEE 754: a sign, an exponent, `fraction_bits`.
double value_of_bits(std::uint16_t bits, int fraction_bits);
// The nearest, ties to even.
std::uint16_t nearest_bits(double value, int fraction_bits);

// Of any dtype of a tensor.
double load_element(const void *element, flashwright_dtype dtype);
// The nearest, ties to even.
void store_element(double value, flashwright_dtype dtype, void *element);
double rounded_to(flashwright_dtype dtype, double value);

// Of a dtype in kDtypes.
double largest_number(flashwright_dtype dtype);
// How far a number that was rounded to `element` may be from it; 0 where kernels compute in this dtype.
double rounding_radius(flashwright_dtype dtype, double element);

}  // namespace flashwright
