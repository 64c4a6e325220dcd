// f16 in memory, f32 in registers. Buffers hold the bits of f16 as integers, because OpenCL has the type only on
// devices with f16 arithmetic, which is not needed here.
#pragma once

#include "algorithm/storage.h"

#include <Halide.h>

#include <functional>

namespace flashwright {

// The element type of buffers for float32 or float16.
Halide::Type storage_type(const Halide::Type &type);

// An element of such a buffer as f32, exactly.
Halide::Expr from_storage(const Halide::Expr &stored, const Halide::Target &target);
// A number in f32 as an element, rounded to nearest, ties to even.
Halide::Expr to_storage(const Halide::Expr &number, const Halide::Type &stored, const Halide::Target &target);
// Element `n` of a repeated f32 number: with f16 its low and high half alternate.
Halide::Expr bits_as_storage(const Halide::Expr &number, const Halide::Expr &n, const Halide::Type &stored);
// How many elements hold an f32 number.
int elements_of_a_float(const Halide::Type &stored);
// The f32 number whose bits these elements hold.
Halide::Expr float_of_elements(const std::function<Halide::Expr(int)> &element, const Halide::Type &stored);

// Turns loads of 8 elements of 16 bits into loads of 4 words, for which Halide's CUDA has one instruction.
void load_halves_by_words(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
