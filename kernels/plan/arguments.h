// The command line of flashwright_plan, and the files that it writes.
#pragma once

#include "kernels/halide_target.h"

#include <map>
#include <string>
#include <vector>

namespace flashwright {

// NAME=VALUE, any name several times.
class Arguments {
 public:
    Arguments(int argc, char **argv);  // throws std::invalid_argument

    std::string value(const std::string &name) const;  // the last one; empty if there is none
    std::vector<std::string> values(const std::string &name) const;
    bool truth(const std::string &name) const;

 private:
    std::map<std::string, std::vector<std::string>> values_;
};

struct Platform {
    const Processor *processor;
    const System *system;
};

// That of `target`, or of `processor` and `system`. Throws ConfigurationError.
Platform platform_of(const Arguments &arguments);

// As "a, b".
std::string joined(const std::vector<std::string> &names);

// Keeps the file's time where nothing changed, so that nothing is built again.
void write_file(const std::string &file, const std::string &text);

}  // namespace flashwright
