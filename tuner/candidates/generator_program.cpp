#include "generator_program.h"

#include "support/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace flashwright {

void find_generator_program(const GeneratorPlace &place,
                            const std::function<void(const std::string &, const nlohmann::ordered_json &)> &take) {
    namespace fs = std::filesystem;
    const char *given = std::getenv(place.variable);
    const fs::path path =
        given != nullptr ? fs::path(given) : fs::read_symlink("/proc/self/exe").parent_path() / place.name;
    if (access(path.c_str(), X_OK) != 0) {
        throw std::runtime_error(fmt::format("{}: expected {}, which {} puts beside this one ({} names another)",
                                             path.string(), place.what, place.builder, place.variable));
    }
    try {
        take(path.string(), nlohmann::ordered_json::parse(text_of(path.string() + ".json")));
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(fmt::format("{}.json: expected what the build says about {}, got: {}", path.string(),
                                             place.what, error.what()));
    }
}

}  // namespace flashwright
