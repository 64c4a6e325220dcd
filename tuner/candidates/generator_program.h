// Finding a generator program, and what the build says about it.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace flashwright {

struct GeneratorPlace {
    const char *variable;  // of the environment, which names another
    const char *name;      // beside this program
    const char *what;      // for messages
    const char *builder;   // what puts it there
};

// `take` gets the program's path and the facts in the JSON file beside it, in their order; it may throw JSON's
// exceptions. Throws std::runtime_error if there is no program, or not these facts.
void find_generator_program(const GeneratorPlace &place,
                            const std::function<void(const std::string &, const nlohmann::ordered_json &)> &take);

}  // namespace flashwright
