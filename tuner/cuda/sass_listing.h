// What nvdisasm lists of a kernel: its instructions, its loops, and what a block of keys costs.
#pragma once

#include "gpu_model.h"
#include "kernels/gpu_tiles.h"

#include <cstddef>
#include <string>
#include <vector>

namespace flashwright {

struct SassInstruction {
    std::string opcode;      // FFMA, without what follows a dot
    std::vector<int> reads;  // registers that it names besides the one it writes
    int writes = -1;         // the first register; -1: none
    int written = 0;         // registers from there on
};

struct SassLoop {
    std::size_t first, last;  // instructions; the last one jumps back
};

struct SassListing {
    std::vector<SassInstruction> instructions;
    std::vector<SassLoop> loops;
};

SassListing parse_sass(const std::string &text);

// The loop over blocks of keys with the largest share of multiply-adds, which is the one without tests; a loop over
// channels in it counts as often as it runs. Throws std::runtime_error if there is none.
LoopCost hot_loop(const SassListing &listing, const GpuTiles &tiles);

}  // namespace flashwright
