#include "arguments.h"

#include "kernels/json_text.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace flashwright {
namespace {

Platform platform_of_target(const std::string &target) {
    std::vector<std::string> known;
    for (const Processor &processor : kProcessors) {
        for (const System &system : kSystems) {
            known.push_back(std::string(processor.halide) + "-" + system.halide);
            if (known.back() == target) return {&processor, &system};
        }
    }
    throw ConfigurationError("expected any of " + joined(known) + "; got " + target);
}

}  // namespace

Arguments::Arguments(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos) throw std::invalid_argument("expected NAME=VALUE, got " + argument);
        values_[argument.substr(0, equals)].push_back(argument.substr(equals + 1));
    }
}

std::string Arguments::value(const std::string &name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second.back();
}

std::vector<std::string> Arguments::values(const std::string &name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::vector<std::string>() : found->second;
}

bool Arguments::truth(const std::string &name) const {
    const std::string text = value(name);
    return text == "ON" || text == "TRUE" || text == "1";
}

Platform platform_of(const Arguments &arguments) {
    const std::string target = arguments.value("target");
    if (!target.empty()) return platform_of_target(target);
    const Platform platform = {find_processor(arguments.value("processor")), find_system(arguments.value("system"))};
    if (platform.processor == nullptr) {
        std::vector<std::string> known;
        for (const Processor &processor : kProcessors) known.emplace_back(processor.name);
        throw ConfigurationError("CMAKE_SYSTEM_PROCESSOR: expected any of " + joined(known) + ", got " +
                                 arguments.value("processor"));
    }
    if (platform.system == nullptr) {
        std::vector<std::string> known;
        for (const System &system : kSystems) known.emplace_back(system.name);
        throw ConfigurationError("CMAKE_SYSTEM_NAME: expected any of " + joined(known) + ", got " +
                                 arguments.value("system"));
    }
    return platform;
}

std::string joined(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

void write_file(const std::string &file, const std::string &text) {
    std::ifstream old(file, std::ios::binary);
    if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return;
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream << text << std::flush;
    if (!stream) throw std::runtime_error(file + ": cannot be written");
}

}  // namespace flashwright
