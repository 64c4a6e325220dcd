// Tensor cores for PTX that Halide wrote: calls of `flashwright_mma` become mma.sync instructions.
#pragma once

#include <string>

namespace flashwright {

// What a call stands for: element `element` (0 to 3) of a thread's part of the accumulator of
// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, from its own element before and all six operand registers, two
// f16 each:
//   float flashwright_mma(float before, int element, uint32_t a0, a1, a2, a3, b0, b1)
inline constexpr const char *kMmaFunction = "flashwright_mma";
inline constexpr int kMmaArguments = 8;

// The PTX with every four calls of the same operands made one instruction. Throws std::runtime_error where calls do not
// come in fours, or one's result is used before the fourth.
std::string fuse_mma_calls(const std::string &ptx);

}  // namespace flashwright
