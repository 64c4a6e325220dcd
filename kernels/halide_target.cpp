#include "halide_target.h"

#include <algorithm>

namespace flashwright {
namespace {

// Kernels bring no Halide runtime, check nothing (the library has) and carry their task's scratch memory along.
constexpr const char *kFeatures = "-no_runtime-no_asserts-no_bounds_query-user_context";

}  // namespace

const Processor *find_processor(const std::string &name) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (const Processor &processor : kProcessors)
        if (lower == processor.name || (!lower.empty() && lower == processor.alias)) return &processor;
    return nullptr;
}

const System *find_system(const std::string &name) {
    for (const System &system : kSystems)
        if (name == system.name) return &system;
    return nullptr;
}

std::string halide_target(const Isa &isa, const System &system) {
    return std::string(find_processor(isa.processor)->halide) + "-" + system.halide + isa.halide_features + kFeatures;
}

}  // namespace flashwright
