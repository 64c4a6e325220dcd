#pragma once

#include "kernels/gpu_tile_rules.h"

#include <Halide.h>

#include <string>

namespace flashwright {

// Each ends the program with an error before it writes a file: a kernel of such parameters would be wrong, or no device
// could run it.
void refuse_illegal_dtype(const std::string &generator, const Halide::Type &dtype);
void refuse_illegal_tiles(const std::string &generator, const GpuTiles &tiles, GpuPass pass, const Halide::Type &stored,
                          const Halide::Target &target);

// The pass of backward that `sums` names; it must be dq, dk, dv, dk+dv or dbias.
GpuPass pass_of(const std::string &generator, const std::string &sums);

}  // namespace flashwright
