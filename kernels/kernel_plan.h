// What the build makes of a catalogue of CPU kernels: the generator's command line for each kernel, and the registry of
// them as C++.
#pragma once

#include "halide_target.h"
#include "kernel_catalogue.h"

#include <string>
#include <vector>

namespace flashwright {

// A configuration, and its name as the library shows it.
struct NamedConfiguration {
    std::string shown;
    const Configuration *configuration;
};

std::string kernel_name(const KernelEntry &entry, const KernelVariant &variant);

// The command line of the generator program for one kernel, without paths.
std::string generator_arguments(const KernelEntry &entry, const KernelVariant &variant, const System &system);

// The arguments that name the types of the kernel.
std::vector<std::string> type_arguments(const Dtype &dtype);

// kernel_registry.cpp.
std::string registry_source(const KernelCatalogue &catalogue, const std::vector<NamedConfiguration> &configurations);

}  // namespace flashwright
