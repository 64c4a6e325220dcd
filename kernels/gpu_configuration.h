// The GPU entries of a configuration file: which kernels there are for a backend, with which tiles. The build and the
// tuner read them with this. docs/configuration.md describes the file.
#pragma once

#include "dtype.h"
#include "gpu_backend.h"
#include "gpu_tile_rules.h"
#include "json_text.h"
#include "op.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

struct GpuPassTiles {
    const GpuPassRow *row;
    GpuTiles tiles;
};

// A kernel of one operation, element type, set of score terms and head dimension.
struct GpuKernelEntry {
    Op op = Op::forward;                  // or backward
    const GpuBackend *backend = nullptr;  // null: all backends that the file is for
    const Dtype *dtype = nullptr;
    unsigned terms = 0;
    bool assume_finite = false;
    int head_dim = 0;
    GpuTiles tiles = {};               // of forward
    std::vector<GpuPassTiles> passes;  // of backward, in the order of kBackwardPasses

    bool is_for(const GpuBackend &other) const { return backend == nullptr || backend == &other; }
    std::string name_on(const GpuBackend &of) const;  // op[_term...]_dtype_backend_d<head_dim>[_nansafe]
};

struct GpuConfiguration {
    std::string file;
    nlohmann::ordered_json json;          // all of it, in the newest version
    std::vector<GpuKernelEntry> entries;  // as `kernels` of the JSON has them; of those that take a call the first runs
};

// An entry without a backend is for all backends whose shipped kernels are in the same file as those of `backend`, and
// its tiles keep the rules of each, whichever are built. Both throw ConfigurationError. `name` stands for the text in
// errors.
GpuConfiguration read_gpu_configuration(const std::string &file, const GpuBackend &backend);
GpuConfiguration parse_gpu_configuration(const std::string &name, const std::string &text, const GpuBackend &backend);

// dq, dk_dv, …: the last part of a kernel's name.
std::string pass_label(const GpuPassRow &pass);

}  // namespace flashwright
