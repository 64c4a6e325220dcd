// The types of a kernel's numbers, and the two functions that convert between them.
//
// A kernel loads elements of the storage type, computes in the accumulation type and rounds once when it stores. Where
// the two are equal both functions return their argument, so they cost nothing. A further storage type (bfloat16) is a
// case in each of the functions below.
#pragma once

#include <Halide.h>

namespace flashwright {

struct NumberTypes {
    Halide::Type storage;       // Q, K, V, dO, out and bias in memory
    Halide::Type accumulation;  // scores, softmax state, lse and sums, also those that several calls add to
    Halide::Target target;      // some have instructions that convert
};

// The element type of a buffer. Buffers hold the bits of float16 as integers: OpenCL has a type for it only where the
// device has arithmetic of it, and Halide emulates its arithmetic on CPUs.
Halide::Type buffer_type(const Halide::Type &storage);

// An element of a buffer as a number of the accumulation type, exactly.
Halide::Expr from_storage(const Halide::Expr &element, const NumberTypes &types);

// A number of the accumulation type as an element of a buffer: the nearest, ties to even. NaN stays NaN, except from
// float64 to float16 without CUDA.
Halide::Expr to_storage(const Halide::Expr &number, const NumberTypes &types);

}  // namespace flashwright
