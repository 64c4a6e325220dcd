// Builds candidates: the generator program makes an object, the linker a shared object. The build cache keeps them
// under a hash of the request, so that nothing is built twice.
#pragma once

#include "kernel_family.h"
#include "support/child_process.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

// The generator program: its path, its hash, and the Halide target of each ISA.
struct GeneratorProgram {
    std::string path, hash, halide_version;
    std::map<std::string, std::string> targets;
};

// FLASHWRIGHT_GENERATOR, else beside this program. Throws std::runtime_error if there is none.
GeneratorProgram find_generator();

// One kernel: the generator's command line without paths. Its function is kCandidateSymbol, its object candidate.o.
using BuildRequest = std::vector<std::string>;
// Throws std::runtime_error if the generator has no target for the family.
BuildRequest build_request_of(const GeneratorProgram &generator, const KernelFamily &family, const CpuTiles &tiles);

struct Build {
    ChildOutcome outcome;
    std::string shared_object;  // if it finished
    std::string object_hash;    // of the object file
    double seconds = 0;         // of the original generation and linking
};

class CandidateBuilder {
 public:
    // Creates the folder `cache`. `jobs` programs run in parallel.
    CandidateBuilder(GeneratorProgram generator, std::string cache, int jobs, ChildLimits limits);

    // One build for each request, in order; equal requests are built once. When a stop is requested the rest is
    // `interrupted`.
    std::vector<Build> build(const std::vector<BuildRequest> &requests, const StopRequested &stop_requested);

    const GeneratorProgram &generator() const { return generator_; }

 private:
    class Job;
    GeneratorProgram generator_;
    std::string cache_;
    int jobs_;
    ChildLimits limits_;
};

// $XDG_CACHE_HOME/flashwright or ~/.cache/flashwright.
std::string default_build_cache();

}  // namespace flashwright
