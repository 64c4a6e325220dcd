// Numbers of f32 in buffers whose elements are f16, and loads of f16 that suit CUDA. Single elements:
// algorithm/storage.h.
#pragma once

#include "algorithm/storage.h"

#include <Halide.h>

#include <functional>

namespace flashwright {

// Element `n` of a number in f32 whose bits are stored over and over.
Halide::Expr bits_as_storage(const Halide::Expr &number, const Halide::Expr &n, const Halide::Type &stored);
// How many elements hold an f32 number.
int elements_of_a_float(const Halide::Type &stored);
// The f32 number whose bits these elements hold.
Halide::Expr float_of_elements(const std::function<Halide::Expr(int)> &element, const Halide::Type &stored);

// Turns loads of 8 elements of 16 bits into loads of 4 words, for which Halide's CUDA has one instruction.
void load_halves_by_words(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
