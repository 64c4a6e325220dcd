// One configuration file: which kernels there are, with which tiles, and which shape each was measured best for. The
// build and the tuner read it with this. docs/configuration.md describes the file.
#pragma once

#include "cpu_schedules.h"
#include "dtype.h"
#include "isa.h"
#include "json_text.h"
#include "score_term.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

constexpr int kConfigurationVersion = 2;  // older versions are upgraded as they are read

struct KernelVariant {
    std::string id;
    const CpuSchedule *schedule;
    CpuTiles tiles;
};

// A shape for which a variant was measured.
struct TunedShape {
    std::int64_t seqlen_q, seqlen_k, head_dim;
    bool causal;
    std::string variant;
    double ratio;       // its time over the baseline's
    std::string place;  // of `variant` in the file
};

// The kernels of one operation, element type, instruction set and set of score terms.
struct KernelEntry {
    Op op;
    const Dtype *dtype;
    const Isa *isa;
    unsigned terms;
    std::vector<KernelVariant> variants;
    std::string default_id;
    std::vector<TunedShape> table;
    std::string default_place;

    std::string name() const;  // op[_term...]_dtype_isa
    bool same_kernels(const KernelEntry &other) const;
    const KernelVariant *find_variant(const std::string &id) const;
};

struct Configuration {
    std::string file;
    nlohmann::ordered_json json;  // all of it, in the newest version, with all terms spelled out
    std::vector<KernelEntry> entries;
    // What it was tuned with and on; empty in files that do not say.
    std::string generator_hash, machine_family, exact_machine;
    std::string origin_place;
};

// Both throw ConfigurationError. `name` stands for the text in errors.
Configuration read_configuration(const std::string &file);
Configuration parse_configuration(const std::string &name, const std::string &text);

// The entry of a file in the newest version.
KernelEntry read_kernel_entry(const JsonNode &entry);

// Turns an older version, as far as it makes sense, into the newest one, and spells out "terms": "all". What makes no
// sense is left to the reader.
void upgrade_configuration(nlohmann::ordered_json &file);

// The names of score terms, in their order, with `separator` between them.
std::string terms_text(unsigned terms, const char *separator);

}  // namespace flashwright
