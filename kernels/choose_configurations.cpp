#include "choose_configurations.h"

#include <fstream>

namespace flashwright {
namespace {

// Winners of the tuner say what they were measured with, and where.
void check_origin(const Configuration &configuration, const ConfigurationRequest &request) {
    if (configuration.generator_hash.empty()) return;
    const auto fail = [&](const std::string &message) {
        throw ConfigurationError(configuration.origin_place + ": " + message);
    };
    if (configuration.generator_hash != request.generator_hash)
        fail("expected winners of this generator and its schedules, got those of another; tune again");
    const std::string own = machine_family();
    if (!own.empty() && configuration.machine_family != own && !request.any_machine)
        fail("expected winners of this machine (" + own + "), got those of another (" + configuration.machine_family +
             "); FLASHWRIGHT_ANY_MACHINE takes them too");
}

KernelCatalogue catalogue_of(const std::vector<Configuration> &configurations, const KernelFilter &filter) {
    KernelCatalogue catalogue(filter);
    std::string names;
    for (const Configuration &configuration : configurations) {
        catalogue.add(configuration);
        names += (names.empty() ? "" : ", ") + configuration.file;
    }
    const std::string missing = catalogue.what_is_missing();
    if (!missing.empty()) throw ConfigurationError(names + ": kernels: " + missing);
    return catalogue;
}

bool is_complete(const std::vector<Configuration> &configurations, const KernelFilter &filter) {
    try {
        catalogue_of(configurations, filter);
    } catch (const ConfigurationError &) {
        return false;
    }
    return true;
}

}  // namespace

ChosenConfigurations choose_configurations(const ConfigurationRequest &request) {
    const Configuration defaults = read_configuration(request.defaults);
    std::vector<Configuration> chosen;
    std::vector<std::string> warnings;
    bool with_defaults = false;
    for (const std::string &file : request.files) {
        if (file == request.defaults) {
            chosen.push_back(defaults);
            with_defaults = true;
            continue;
        }
        try {
            const Configuration given = read_configuration(file);
            check_origin(given, request);
            catalogue_of({defaults, given}, request.filter);
            chosen.push_back(given);
        } catch (const ConfigurationError &error) {
            if (request.strict) throw;
            warnings.push_back(std::string(error.what()) + ". This file is not used; the defaults serve.");
        }
    }
    if (!with_defaults && !is_complete(chosen, request.filter)) chosen.insert(chosen.begin(), defaults);
    KernelCatalogue catalogue = catalogue_of(chosen, request.filter);
    return {std::move(chosen), std::move(catalogue), std::move(warnings)};
}

std::string machine_family() {
    std::ifstream cpus("/proc/cpuinfo");
    std::string vendor, family, model;
    for (std::string line; std::getline(cpus, line) && model.empty();) {
        const std::string name = line.substr(0, line.find_first_of("\t:"));
        const std::size_t value = line.find(": ");
        if (value == std::string::npos) continue;
        if (name == "vendor_id") vendor = line.substr(value + 2);
        if (name == "cpu family") family = line.substr(value + 2);
        if (name == "model") model = line.substr(value + 2);
    }
    return vendor.empty() || family.empty() || model.empty() ? "" : vendor + "-" + family + "-" + model;
}

}  // namespace flashwright
