// The winners file, which is a kernel configuration (kernels/configuration.h).
#pragma once

#include "tuned_kernel.h"
#include "tuner/candidates/candidate_builder.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

// A name that follows from the tiles alone, so that two runs agree on it: q32b256r2d16k8v8.
std::string variant_id(const TileSpace &space, const CpuTiles &tiles);

// The identity of measurements: the machine and what made the kernels.
nlohmann::json machine_json();
nlohmann::json toolchain_json(const GeneratorProgram &generator);

// What this run found, as a whole file.
nlohmann::ordered_json winners_json(const std::vector<TunedKernel> &kernels, const GeneratorProgram &generator,
                                    const std::string &results_name);

// `news` and what else `old` holds: kernels, variants and rows of other shapes. What is measured anew replaces what
// was.
nlohmann::ordered_json merge_winners(const nlohmann::ordered_json &old, const nlohmann::ordered_json &news);

// Reads a winners file as the build does: the newest version, with a table in every entry. Throws ConfigurationError
// for a file that the build would refuse, too. Null, with the reason in `foreign`, if it is of another machine or
// generator.
nlohmann::ordered_json read_winners(const std::string &path, const GeneratorProgram &generator, std::string *foreign);

nlohmann::ordered_json read_winners_of_any_machine(const std::string &path);

// Of the kernels of this op, dtype and ISA all tiles in the file that the family's space may hold.
std::vector<CpuTiles> tiles_in(const nlohmann::ordered_json &winners, const KernelFamily &family);

// Merges `news` into the file under a lock and replaces it as a whole. A file that cannot be read is left as it is, and
// ConfigurationError says why. One of another machine or generator is replaced, and `warning` says why. Throws
// std::runtime_error.
void write_winners(const std::string &path, const nlohmann::ordered_json &news, const GeneratorProgram &generator,
                   std::string *warning);

}  // namespace flashwright
