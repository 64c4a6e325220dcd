// Instruction sets of the CPU kernels: one row each. A new instruction set starts here; if it needs a CPU feature that
// no other one needs, runtime/src/cpu_isa.cpp learns to detect that feature.
#pragma once

#include <string_view>

namespace flashwright {

struct Isa {
    const char *name;             // in configurations, kernel names and on the command line
    const char *description;      // for people
    const char *processor;        // as CMAKE_SYSTEM_PROCESSOR
    int vector_bits, registers;   // of the vector unit
    const char *halide_features;  // what the Halide target has besides processor and system
    const char *cpu_features;     // what a CPU needs, besides what the rows before it of the same processor need
};

// Of one processor, the worst first. `cpu_features` lists all that code generation may use, not only the feature that
// names the row.
inline constexpr Isa kIsas[] = {
    {"baseline", "any CPU of this architecture", "x86_64", 128, 16, "", ""},
    {"sse41", "SSE4.1, 128-bit vectors", "x86_64", 128, 16, "-sse41", "ssse3,sse4.1"},
    {"avx2", "AVX2 with FMA, 256-bit vectors", "x86_64", 256, 16, "-sse41-avx-avx2-f16c-fma",
     "popcnt,lzcnt,bmi,bmi2,avx,avx2,f16c,fma"},
    {"avx512", "AVX-512 F, CD, BW, DQ, VL, 512-bit vectors", "x86_64", 512, 32,
     "-sse41-avx-avx2-f16c-fma-avx512-avx512_skylake", "avx512f,avx512cd,avx512bw,avx512dq,avx512vl"},
    {"neon", "Advanced SIMD, 128-bit vectors; any CPU of this architecture", "aarch64", 128, 32, "", ""},
    {"rvv", "the vector extension, 256-bit vectors", "riscv64", 256, 32, "-rvv-vector_bits_256", "v,vlen=256"},
    {"simd128", "128-bit vectors; any engine that loads this module", "wasm32", 128, 16, "-wasm_simd128", ""},
};

// Null for a name that is no instruction set's.
constexpr const Isa *find_isa(std::string_view name) {
    for (const Isa &isa : kIsas)
        if (name == isa.name) return &isa;
    return nullptr;
}

// In vectors of sums, whose elements have `bytes`.
constexpr int lanes_of(const Isa &isa, int bytes) { return isa.vector_bits / 8 / bytes; }

}  // namespace flashwright
