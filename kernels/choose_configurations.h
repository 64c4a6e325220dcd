// Which of the given configuration files a build uses.
#pragma once

#include "kernel_catalogue.h"

#include <string>
#include <vector>

namespace flashwright {

struct ConfigurationRequest {
    std::string defaults;            // the file that ships
    std::vector<std::string> files;  // later ones override earlier ones; empty: the defaults
    KernelFilter filter;
    std::string generator_hash;  // of this build
    bool any_machine = false;    // take what was tuned on another machine
    bool strict = false;         // a file that cannot be used is an error
};

struct ChosenConfigurations {
    std::vector<Configuration> configurations;
    KernelCatalogue catalogue;
    std::vector<std::string> warnings;  // one for each file that is not used
};

// The files that can be used. The defaults come first where the others are not complete without them. Throws
// ConfigurationError.
ChosenConfigurations choose_configurations(const ConfigurationRequest &request);

// Vendor, family and model of this machine's processor, as winners of the tuner name it; empty where it cannot be read.
std::string machine_family();

}  // namespace flashwright
