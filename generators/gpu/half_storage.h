// f16 in memory beside f32 in registers. Buffers hold its bits as integers: OpenCL has a type for it only where the
// device has arithmetic of it, which is not needed here.
#pragma once

#include <Halide.h>

#include <functional>

namespace flashwright {

// Of buffers whose elements are float32 or float16.
Halide::Type storage_type(const Halide::Type &type);

// An element of such a buffer as f32, exactly.
Halide::Expr from_storage(const Halide::Expr &stored, const Halide::Target &target);
// A number in f32 as an element, the nearest, ties to even.
Halide::Expr to_storage(const Halide::Expr &number, const Halide::Type &stored, const Halide::Target &target);
// Element `n` of a number in f32 whose bits are stored over and over.
Halide::Expr bits_as_storage(const Halide::Expr &number, const Halide::Expr &n, const Halide::Type &stored);
// How many elements hold a number in f32, and the number whose bits they are: element(n) is the nth.
int elements_of_a_float(const Halide::Type &stored);
Halide::Expr float_of_elements(const std::function<Halide::Expr(int)> &element, const Halide::Type &stored);

// Loads of 8 elements of 16 bits become loads of 4 words, for which Halide's CUDA has one instruction.
void load_halves_by_words(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
