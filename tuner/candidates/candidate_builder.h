// Builds candidates: the generator program makes an object, the linker a shared object of it. Kept under a hash of all
// that decides the content, so nothing is built twice.
#pragma once

#include "kernel_family.h"
#include "support/child_process.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

// The generator program, what identifies it, and the Halide target of each ISA.
struct GeneratorProgram {
    std::string path, hash, halide_version;
    std::map<std::string, std::string> targets;
};

// FLASHWRIGHT_GENERATOR, else beside this program. Throws std::runtime_error if there is none.
GeneratorProgram find_generator();

// One kernel, whose function is kCandidateSymbol and whose object candidate.o: the generator's command line without
// paths.
using BuildRequest = std::vector<std::string>;
// Throws std::runtime_error if the generator has no target for the family.
BuildRequest build_request_of(const GeneratorProgram &generator, const KernelFamily &family, const CpuTiles &tiles);

struct Build {
    ChildOutcome outcome;
    std::string shared_object;  // if it finished
    std::string object_hash;    // equal for equal objects
    double seconds = 0;         // of generating and linking, also if that was long ago
};

class CandidateBuilder {
 public:
    // `cache` is made if need be; `jobs` programs run at once.
    CandidateBuilder(GeneratorProgram generator, std::string cache, int jobs, ChildLimits limits);

    // In the order of the requests; equal ones are built once. When a stop is requested the rest is `interrupted`.
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
