// What is tuned: the kernels of one op, element type and instruction set.
#pragma once

#include "flashwright/flashwright.h"
#include "kernels/dtype_dispatch.h"
#include "kernels/tile_space.h"

#include <string>
#include <vector>

namespace flashwright {

struct KernelFamily {
    std::string op, dtype, isa;
    std::string baseline_id;
    CpuTiles baseline_tiles;

    std::string name() const { return op + " " + dtype + " " + isa; }
    flashwright_dtype element_type() const { return dtype_id(dtype); }
    const TileSpace &space() const;
    CpuSearchContext machine() const;  // this one, as kernels of this family see it
};

// The families that this build and this CPU can tune. Empty lists: all. Throws std::invalid_argument if one that is
// asked for by name is missing.
std::vector<KernelFamily> kernel_families(const std::vector<std::string> &ops, const std::vector<std::string> &dtypes,
                                          const std::vector<std::string> &isas);

}  // namespace flashwright
