// Finds a generator program and the facts that the build has recorded about it.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace flashwright {

struct GeneratorPlace {
    const char *variable;  // environment variable that names another program
    const char *name;      // file name beside this program
    const char *what;      // in messages
    const char *builder;   // what installs it, in messages
};

// Calls `take` with the program's path and the JSON file beside it; `take` may throw nlohmann::json::exception. Throws
// std::runtime_error if the program or a fact is missing.
void find_generator_program(const GeneratorPlace &place,
                            const std::function<void(const std::string &, const nlohmann::ordered_json &)> &take);

}  // namespace flashwright
