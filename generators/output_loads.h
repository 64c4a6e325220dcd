// What an update reads of an output lies in the caller's memory, where nothing is aligned.
#pragma once

#include <Halide.h>

namespace flashwright {

// Halide 21 takes loads from a pipeline's own outputs for loads from its temporary memory, and expects that to be
// aligned to whole vectors. This makes them loads of the output's buffer.
void load_outputs_unaligned(Halide::Pipeline pipeline);

}  // namespace flashwright
