// Element types: one row each, for the build, the kernels, files and tests. A new type starts here.
#pragma once

#include <string_view>

namespace flashwright {

struct Dtype {
    const char *name;          // in configurations, kernel names and on the command line
    const char *accumulation;  // name of the type that scores, sums and softmax_lse have
    const char *halide;        // Halide's name of the type in memory
    const char *npy;           // descr in a .npy header
    int bytes;                 // of an element in memory
    int fraction_bits;         // of an element; the others are the sign and the exponent, as IEEE 754 lays them out
    bool on_cpu, on_gpu;       // there are CPU kernels; GPU kernels
    // Largest error against attention in double (reference/): of out relative to the largest value of the reference,
    // of softmax_lse relative to max(1, |lse|), of a gradient relative to its unit. Where elements are
    // narrower than sums: of values before they are rounded once.
    double forward_tolerance, gradient_tolerance;
};

inline constexpr Dtype kDtypes[] = {
    {"f32", "f32", "float32", "<f4", 4, 23, true, true, 1e-5, 4e-5},
    {"f64", "f64", "float64", "<f8", 8, 52, true, false, 1e-12, 1e-11},
    {"f16", "f32", "float16", "<f2", 2, 10, false, true, 1e-5, 4e-5},
};

// Null for a name that is no type's.
constexpr const Dtype *find_dtype(std::string_view name) {
    for (const Dtype &dtype : kDtypes)
        if (name == dtype.name) return &dtype;
    return nullptr;
}

// Of an element of sums: those that lie in the lanes of a vector.
constexpr int accumulation_bytes(const Dtype &dtype) { return find_dtype(dtype.accumulation)->bytes; }

}  // namespace flashwright
